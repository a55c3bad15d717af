//! The decision: which preset, and with which parameters.
//!
//! The order is that of the study's Figure 24: enough memory for everything → in memory; too little for codes →
//! All-in-Storage; else by concurrency: few queries at a time → PipeANN, many → OctopusANN, or the navigation graph alone
//! where the recall is moderate or a page holds one record (Finding 12).

use super::memory::{Memory, Shape};
use anyhow::{Context, Result};
use gleann_storage::Layout;

/// Share of the memory that an index in memory may take: the rest is the program's and the system's.
const SPARE: f64 = 0.8;
/// Recall from which the study calls it high.
const HIGH: f64 = 0.90;
/// Recall up to which inverted lists keep pace, on low-dimensional data (Finding 1).
const RELAXED: f64 = 0.80;
/// Dimensions that count as low.
const LOW_DIMENSION: u32 = 200;
/// The degree of the study.
const DEGREE: usize = 64;
/// Least degree that is worth a smaller page.
const LEAST_DEGREE: usize = 48;
/// Most searches a core interleaves.
const MOST_IN_FLIGHT: u32 = 64;

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    /// The vectors.
    pub shape: Shape,
    /// Memory there is.
    pub memory: u64,
    /// Queries at a time.
    pub concurrency: u32,
    /// Recall@10 that is wanted.
    pub recall: f64,
    /// Cores there are.
    pub cores: u32,
}

/// What is advised.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// The preset.
    pub preset: &'static str,
    /// I/O engine.
    pub engine: &'static str,
    /// R.
    pub degree: usize,
    /// Bytes of a page.
    pub page_size: usize,
    /// Records a page.
    pub per_page: usize,
    /// Pages a record.
    pub pages: usize,
    /// Codes and navigation graph.
    pub memory: Memory,
    /// Searches a core interleaves.
    pub in_flight: u32,
    /// Why, one reason a line.
    pub reasons: Vec<String>,
}

/// Decides.
///
/// # Errors
/// No page holds such vectors.
pub fn decide(question: &Question) -> Result<Advice> {
    let shape = &question.shape;
    let mut reasons = Vec::new();
    let (layout, degree) = place(shape, &mut reasons)?;
    let wanted =
        if question.recall > 0.97 { (2 * shape.usual_code()).min(shape.dim) } else { shape.usual_code() };
    let fitted = shape.fit(question.memory, wanted);
    let (preset, engine) = choose(question, &layout, fitted, &mut reasons);
    let memory =
        if preset == "aisaq" { shape.without_codes() } else { fitted.unwrap_or(shape.without_codes()) };
    if preset != "aisaq" && memory.pq_bytes < shape.usual_code() {
        reasons.push(format!(
            "codes of {} bytes are what the memory holds, {} would suit {} dimensions: expect a longer list",
            memory.pq_bytes,
            shape.usual_code(),
            shape.dim
        ));
    }
    Ok(Advice {
        preset,
        engine,
        degree,
        page_size: layout.page_size(),
        per_page: layout.records_per_block(),
        pages: layout.pages_per_block(),
        memory,
        in_flight: question.concurrency.div_ceil(question.cores).clamp(1, MOST_IN_FLIGHT),
        reasons,
    })
}

/// The smallest page that holds a record, with a slightly smaller degree where that saves a larger page.
fn place(shape: &Shape, reasons: &mut Vec<String>) -> Result<(Layout, usize)> {
    let fits = |degree, page| {
        let layout = Layout::new(shape.element, shape.dim as usize, degree, page).ok()?;
        (layout.pages_per_block() == 1).then_some(layout)
    };
    for page in [4096, 8192, 16_384] {
        let found = (LEAST_DEGREE..=DEGREE).rev().find_map(|degree| Some((fits(degree, page)?, degree)));
        let Some((layout, degree)) = found else { continue };
        if degree < DEGREE {
            reasons
                .push(format!("R = {degree} instead of {DEGREE}: a record then fits a page of {page} bytes"));
        } else if page > 4096 {
            reasons.push(format!(
                "pages of {page} bytes, the smallest that hold a record: fewer bytes a read beat more records a page (Finding 12)"
            ));
        }
        return Ok((layout, degree));
    }
    reasons.push("a record takes several pages of 16384 bytes".to_owned());
    let layout = Layout::new(shape.element, shape.dim as usize, DEGREE, 16_384).context("--data")?;
    Ok((layout, DEGREE))
}

fn choose(
    question: &Question,
    layout: &Layout,
    fitted: Option<Memory>,
    reasons: &mut Vec<String>,
) -> (&'static str, &'static str) {
    let mut because = |reason: &str| reasons.push(reason.to_owned());
    if question.shape.in_memory(DEGREE as u64) as f64 <= SPARE * question.memory as f64 {
        because(
            "graph and vectors fit the memory: an in-memory index (HNSW, Vamana) needs no disk at all; here the engine \
             `mmap` keeps this index there",
        );
        return ("grip", "mmap");
    }
    if fitted.is_none() {
        because(
            "not even short codes fit the memory: they go into the records (All-in-Storage), at larger reads",
        );
        return ("aisaq", "auto");
    }
    if question.recall <= RELAXED && question.shape.dim <= LOW_DIMENSION {
        because(
            "at so relaxed a recall inverted lists (preset spann) may be faster, at 1.5 to 3.4 times the disk (Finding 1)",
        );
    }
    (by_load(question, layout, &mut because), "auto")
}

/// The last two branches: concurrency, then recall and what a page holds.
fn by_load(question: &Question, layout: &Layout, because: &mut dyn FnMut(&str)) -> &'static str {
    if question.concurrency <= question.cores {
        because(
            "no more queries at a time than cores: latency is what counts, and PipeSearch does not wait for whole rounds of reads",
        );
        because("under more load it would read more and be slower (Findings 5 and 9)");
        return "pipeann";
    }
    because(
        "more queries at a time than cores: the disk is the limit, and fewer pages a query is what counts",
    );
    if layout.records_per_block() == 1 {
        because(
            "a page holds one record, so that PageShuffle and PageSearch give nothing (Finding 12); MemGraph does",
        );
        return "grip";
    }
    if question.recall < HIGH {
        because(
            "at moderate recall a navigation graph alone is nearly as good, and spares the shuffle (Figure 24)",
        );
        return "grip";
    }
    because(
        "MemGraph, PageShuffle with PageSearch, and DynamicWidth each read fewer pages, and multiply (Finding 10)",
    );
    "octopusann"
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleann_vector::ElementType;

    fn ask(rows: u64, dim: u32, element: ElementType, memory: u64) -> Question {
        Question { shape: Shape { rows, dim, element }, memory, concurrency: 64, recall: 0.95, cores: 16 }
    }

    /// Figure 24 of the study, branch by branch.
    #[test]
    fn the_guide_is_followed() {
        let sift = ask(100_000_000, 128, ElementType::U8, 8 << 30);
        let preset = |question: Question| decide(&question).unwrap().preset;
        assert_eq!(preset(sift), "octopusann");
        assert_eq!(preset(Question { recall: 0.85, ..sift }), "grip");
        assert_eq!(preset(Question { concurrency: 4, ..sift }), "pipeann");
        assert_eq!(preset(Question { memory: 256 << 20, ..sift }), "aisaq");
        assert_eq!(preset(ask(10_000_000, 960, ElementType::F32, 8 << 30)), "grip");
        let all = decide(&Question { memory: 64 << 30, ..sift }).unwrap();
        assert_eq!((all.preset, all.engine), ("grip", "mmap"));
        let relaxed = decide(&Question { recall: 0.7, ..sift }).unwrap();
        assert!(relaxed.reasons.iter().any(|reason| reason.contains("spann")), "{:?}", relaxed.reasons);
    }

    #[test]
    fn parameters_suit_the_vectors() {
        let sift = decide(&ask(100_000_000, 128, ElementType::U8, 8 << 30)).unwrap();
        assert_eq!((sift.degree, sift.page_size, sift.per_page, sift.in_flight), (64, 4096, 10, 4));
        assert_eq!((sift.memory.pq_bytes, sift.memory.share), (32, 0.01));
        // A record of 960 floats and 64 neighbours exceeds 4 KiB by a few bytes: three neighbours fewer, half the read.
        let gist = decide(&ask(10_000_000, 960, ElementType::F32, 8 << 30)).unwrap();
        assert!(gist.degree < 64 && gist.page_size == 4096 && gist.per_page == 1, "{gist:?}");
        let text = decide(&ask(10_000_000, 1536, ElementType::F32, 16 << 30)).unwrap();
        assert_eq!((text.degree, text.page_size, text.pages), (64, 8192, 1));
        let huge = decide(&ask(1_000_000, 8000, ElementType::F32, 8 << 30)).unwrap();
        assert!(huge.pages > 1);
        let poor = decide(&ask(100_000_000, 128, ElementType::U8, 2 << 30)).unwrap();
        assert!(
            poor.memory.pq_bytes < 32 && poor.reasons.iter().any(|reason| reason.contains("longer list"))
        );
    }
}
