//! PipeANN's and Starling's navigation graph: `_mem.index` (u64 file size, u32 largest degree, u32 entry, u64 frozen
//! points, then each list with its length before it), and `_mem.index.tags`: which vectors its nodes are.

use super::super::ImportError;
use super::super::mem_graph::GivenMemGraph;
use super::array::ArrayFile;
use super::words::Words;
use gleann_storage::MAX_DEGREE;
use std::path::Path;

/// Bytes before the first list.
const HEAD: u64 = 24;

/// Reads the graph over some of `nodes` nodes; its rows are ids of the disk index.
///
/// # Errors
/// A file cannot be read, or holds what cannot be.
pub(crate) fn read_mem_index(index: &Path, tags: &Path, nodes: u32) -> Result<GivenMemGraph, ImportError> {
    let rows = read_tags(tags, nodes)?;
    let file = ArrayFile::open(index)?;
    let wrong = |field, found: u64, expected: String| Err(ImportError::field(index, field, found, expected));
    let mut size = [0u64; 1];
    let mut words = [0u32; 2];
    let mut frozen = [0u64; 1];
    file.read(0, &mut size)?;
    file.read(8, &mut words)?;
    file.read(16, &mut frozen)?;
    let ([degree, entry], count) = (words, rows.len() as u32);
    if size[0] != file.length {
        return wrong(
            "the file size in the header",
            size[0],
            format!("{}, the length of the file", file.length),
        );
    }
    if !(1..=MAX_DEGREE as u32).contains(&degree) {
        return wrong("the largest degree", degree.into(), format!("1 to {MAX_DEGREE}"));
    }
    if entry >= count {
        return wrong("the entry point", entry.into(), format!("a node below {count}, the number of tags"));
    }
    if frozen[0] != 0 {
        return wrong("the number of frozen points", frozen[0], "0".into());
    }
    let lists = read_lists(&file, count, degree)?;
    Ok(GivenMemGraph { rows, lists, degree: degree as usize, entry })
}

fn read_tags(path: &Path, nodes: u32) -> Result<Vec<u32>, ImportError> {
    let file = ArrayFile::open(path)?;
    let shape = file.shape(0, 4)?;
    if shape.columns != 1 || shape.rows == 0 || shape.rows > nodes {
        let found = format!("{} × {}", shape.rows, shape.columns);
        return Err(ImportError::field(path, "the array of tags", found, format!("1 to {nodes} × 1")));
    }
    file.expect_end(shape, 4)?;
    let rows: Vec<u32> = file.values(shape)?;
    let mut sorted = rows.clone();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(ImportError::field(path, "a tag", format!("{} twice", pair[0]), "different tags"));
    }
    match sorted.last() {
        Some(&last) if last >= nodes => {
            Err(ImportError::field(path, "a tag", last, format!("a point of the disk index, below {nodes}")))
        }
        _ => Ok(rows),
    }
}

fn read_lists(file: &ArrayFile, count: u32, most: u32) -> Result<Vec<Vec<u32>>, ImportError> {
    let mut words = Words::new(file, HEAD);
    let mut lists = Vec::with_capacity(count as usize);
    let wrong = |field, found: u32, node: u32, expected: String| {
        Err(ImportError::field(&file.path, field, format!("{found} in node {node}"), expected))
    };
    for node in 0..count {
        let degree = words.next()?;
        if degree > most {
            return wrong("a degree", degree, node, format!("at most {most}"));
        }
        let mut list = Vec::with_capacity(degree as usize);
        for _ in 0..degree {
            let id = words.next()?;
            if id >= count {
                return wrong("a neighbour", id, node, format!("a node below {count}"));
            }
            if id != node && !list.contains(&id) {
                list.push(id);
            }
        }
        lists.push(list);
    }
    let end = words.offset();
    if end == file.length {
        return Ok(lists);
    }
    let expected = format!("{end} for {count} lists");
    Err(ImportError::field(&file.path, "the length in bytes", file.length, expected))
}
