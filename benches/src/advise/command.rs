//! Arguments of `advise`, and how its answer is told.

use super::guide::{Advice, Question, decide};
use super::measurements::Measurements;
use super::memory::Shape;
use anyhow::{Result, ensure};
use gleann::{bytes, parse_bytes};
use gleann_vector::{Metric, VectorFile};
use std::fmt::Write;
use std::path::PathBuf;

/// Which preset and parameters suit vectors, memory, load and recall.
#[derive(Debug, clap::Args)]
pub struct AdviseArgs {
    /// The vectors: .fbin, .f16bin, .u8bin, .i8bin, .fvecs, .bvecs or .npy
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    /// Memory that searching may take
    #[arg(long, value_parser = parse_bytes)]
    memory: u64,
    /// Queries that are under way at a time
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    concurrency: u32,
    /// Recall@10 that is wanted
    #[arg(long, default_value_t = 0.95)]
    recall: f64,
    /// How near two vectors are: l2, ip or cosine
    #[arg(long, default_value = "l2")]
    metric: Metric,
    /// Advise for so many rows of this kind, rather than for those in the file
    #[arg(long, value_name = "N")]
    rows: Option<u64>,
    /// Measurements to go by, as `run-bench reproduce` writes them (`measured.toml` of its work folder)
    #[arg(long, value_name = "FILE")]
    measured: Option<PathBuf>,
}

/// Runs the verb.
///
/// # Errors
/// The vectors cannot be read, or the recall is none.
pub fn run(args: AdviseArgs) -> Result<()> {
    let expected = (0.0..1.0).contains(&args.recall);
    ensure!(expected, "--recall {}: expected a number from 0 to below 1, such as 0.95", args.recall);
    let file = VectorFile::open(&args.data)?;
    let measured = Measurements::load(args.measured.as_deref())?;
    let question = Question {
        shape: Shape {
            rows: args.rows.unwrap_or(file.rows()),
            dim: file.dim() as u32,
            element: file.element_type(),
        },
        memory: args.memory,
        concurrency: args.concurrency,
        recall: args.recall,
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
    };
    print!("{}", tell(&args, &question, &decide(&question)?, &measured));
    Ok(())
}

fn tell(args: &AdviseArgs, question: &Question, advice: &Advice, measured: &Measurements) -> String {
    let Shape { rows, dim, element } = question.shape;
    let mut text = format!(
        "{rows} vectors of {dim} × {element}, {} of memory, {} queries at a time on {} cores, recall {}\n\npreset  {}\n",
        bytes(question.memory),
        question.concurrency,
        question.cores,
        question.recall,
        advice.preset
    );
    for reason in &advice.reasons {
        let _ = writeln!(text, "        {reason}");
    }
    let place = match (advice.per_page, advice.pages) {
        (1, pages) if pages > 1 => format!("{pages} pages a record"),
        (records, _) => format!("{records} a page"),
    };
    let _ = writeln!(
        text,
        "graph   R = {}, L = 125; pages of {} bytes, {place}",
        advice.degree, advice.page_size
    );
    let memory = &advice.memory;
    let parts = if memory.pq_bytes == 0 {
        "no codes in memory".to_owned()
    } else {
        format!("codes of {} bytes, a navigation graph over {} %", memory.pq_bytes, 100.0 * memory.share)
    };
    let _ = writeln!(text, "memory  {}: {parts}", bytes(memory.bytes));
    let list = expected(&mut text, question, advice, measured);
    text + &commands(args, advice, list)
}

/// L and pages that were measured on the most similar set; the list length to begin with.
fn expected(text: &mut String, question: &Question, advice: &Advice, measured: &Measurements) -> u32 {
    let Shape { rows, dim, .. } = question.shape;
    match measured.nearest(advice.preset, question.recall, dim, rows) {
        Some(point) => {
            let _ = writeln!(
                text,
                "reads   about {:.0} pages a query at L = {}: measured on {} ({} rows, {} dimensions) at recall {}; harder \
                 or larger sets need more",
                point.pages, point.list, point.set, point.rows, point.dim, point.recall
            );
            point.list
        }
        None => {
            let _ = writeln!(
                text,
                "reads   not measured at this recall; `run-bench reproduce` measures, --measured takes its file"
            );
            40
        }
    }
}

fn commands(args: &AdviseArgs, advice: &Advice, list: u32) -> String {
    let mut build = format!(
        "cargo xtask build-index --preset {} --data {} --out DIR --metric {} --degree {} --page-size {}",
        advice.preset,
        args.data.display(),
        args.metric,
        advice.degree,
        advice.page_size
    );
    if advice.memory.pq_bytes > 0 {
        let _ = write!(build, " --pq-bytes {} --mem-graph {}", advice.memory.pq_bytes, advice.memory.share);
    }
    let lists: Vec<String> =
        [list * 3 / 4, list, list * 3 / 2, 2 * list].iter().map(|list| list.max(&10).to_string()).collect();
    format!(
        "\n{build}\ncargo xtask run-bench --preset {} --index DIR --query QUERIES --truth TRUTH --engine {} --in-flight {} \
         --list {}\n",
        advice.preset,
        advice.engine,
        advice.in_flight,
        lists.join(",")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleann_vector::ElementType;

    #[test]
    fn the_answer_has_preset_parameters_figures_and_commands() {
        let args = AdviseArgs {
            data: "base.u8bin".into(),
            memory: 4 << 30,
            concurrency: 64,
            recall: 0.9,
            metric: Metric::L2,
            rows: None,
            measured: None,
        };
        let shape = Shape { rows: 100_000_000, dim: 128, element: ElementType::U8 };
        let question = Question { shape, memory: 4 << 30, concurrency: 64, recall: 0.9, cores: 2 };
        let advice = decide(&question).unwrap();
        let text = tell(&args, &question, &advice, &Measurements::load(None).unwrap());
        for part in [
            "preset  octopusann",
            "R = 64",
            "10 a page",
            "codes of 32 bytes",
            "build-index --preset octopusann --data base.u8bin",
            "--pq-bytes 32 --mem-graph 0.01",
            "--in-flight 32",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let none = tell(&args, &question, &advice, &Measurements::default());
        assert!(none.contains("not measured"));
    }
}
