//! What becomes of an index of DiskANN's family, and which files are refused.
#![allow(clippy::unwrap_used)]

mod building;
mod foreign;

use building::{StopAt, assert_sound, clustered, files};
use foreign::{Foreign, SECTOR, aligned_partition, array, partition, put};
use gleann::{BuildError, BuildOptions, DiskAnnFiles, GraphSource, Packing, build_from_graph};
use gleann_storage::IndexDirectory;
use gleann_vector::{Element, ElementType, Metric, Silent};
use std::path::{Path, PathBuf};

/// Two nodes less than five full pages of [`bytes`] and some.
const ROWS: usize = 290;

/// Spoils the files of a prefix.
type Change<'a> = &'a dyn Fn(&Path);

fn bytes() -> Foreign<u8> {
    Foreign::new(clustered::<u8>(ROWS, 16, 3), 12)
}

fn open(prefix: &Path) -> GraphSource {
    GraphSource::from_diskann(&DiskAnnFiles::new(prefix)).unwrap()
}

fn refusal(files: &DiskAnnFiles) -> String {
    GraphSource::from_diskann(files).unwrap_err().to_string()
}

/// Builds, and returns the index with its keys by node.
fn built(source: &GraphSource, out: &Path) -> (IndexDirectory, Vec<u64>) {
    let options = BuildOptions { threads: 2, ..source.options() };
    let report = build_from_graph(source, out, &options, &Silent).unwrap();
    assert_eq!((report.repaired, report.unreachable), (0, 0));
    assert_sound(out, source.rows());
    let index = IndexDirectory::open(out).unwrap();
    let keys = index.keys().unwrap().unwrap_or_else(|| (0..source.rows()).collect());
    (index, keys)
}

/// Vectors and lists are those of `foreign`, whose ids are the keys.
fn assert_same<T: Element>(foreign: &Foreign<T>, index: &IndexDirectory, keys: &[u64]) {
    let graph = index.graph().unwrap();
    graph
        .for_each_record(&Silent, |node, record| {
            let key = keys[node.0 as usize];
            assert_eq!(record.vector::<T>(), foreign.vectors.row(key as usize), "vector {key}");
            let list: Vec<u32> = record.neighbours().map(|id| keys[id as usize] as u32).collect();
            assert_eq!(list, foreign.lists[key as usize], "list {key}");
        })
        .unwrap();
    assert_eq!(keys[index.manifest().entry.unwrap().0 as usize], u64::from(foreign.medoid));
}

fn assert_codes<T: Element>(foreign: &Foreign<T>, index: &IndexDirectory, keys: &[u64]) {
    let (codes, all) = (index.codes().unwrap().unwrap(), foreign.codes());
    for (node, &key) in keys.iter().enumerate() {
        let stored = &all[8 + key as usize * foreign.chunks..][..foreign.chunks];
        assert_eq!(codes.row(node), stored, "code {key}");
    }
}

#[test]
fn vectors_lists_entry_and_codes_are_taken_over() {
    fn check<T: Element>(element: ElementType, dim: usize, degree: usize) {
        let dir = tempfile::tempdir().unwrap();
        let foreign = Foreign::new(clustered::<T>(ROWS, dim, 3), degree);
        let source = open(&foreign.write(dir.path()));
        assert_eq!(source.notes(), [""; 0], "{element}");
        assert_eq!((source.element(), source.dim(), source.rows()), (element, dim, ROWS as u64));
        assert!(source.keeps_codebook(&source.options()));
        let (index, keys) = built(&source, &dir.path().join("index"));
        assert_same(&foreign, &index, &keys);
        assert_codes(&foreign, &index, &keys);
        assert_eq!(index.manifest().layout.degree(), degree);
    }
    check::<u8>(ElementType::U8, 16, 12);
    check::<i8>(ElementType::I8, 16, 12);
    check::<f32>(ElementType::F32, 16, 12);
    // Chunks of different width, vectors of no whole number of words, nodes of several sectors.
    check::<u8>(ElementType::U8, 17, 9);
    check::<f32>(ElementType::F32, 1009, 40);
}

#[test]
fn an_import_is_the_same_whatever_the_budget_and_continues() {
    let dir = tempfile::tempdir().unwrap();
    let source = open(&bytes().write(dir.path()));
    let build = |name: &str, memory_budget| {
        let options = BuildOptions { memory_budget, ..source.options() };
        build_from_graph(&source, &dir.path().join(name), &options, &Silent).unwrap();
        files(&dir.path().join(name))
    };
    let whole = build("whole", 1 << 30);
    let plan =
        source.plan(&BuildOptions { memory_budget: 1_000_000, ..source.options() }, &dir.path().join("x"));
    let Err(BuildError::Budget { minimum, .. }) = plan else { panic!("{plan:?}") };
    assert_eq!(build("small", minimum), whole);
    let out = dir.path().join("stopped");
    let mut stops = 0;
    for phase in 2.. {
        match build_from_graph(&source, &out, &source.options(), &StopAt::phase(phase)) {
            Ok(_) => break,
            Err(error) => assert!(error.to_string().contains("stopped"), "{error}"),
        }
        stops += 1;
    }
    assert!(stops >= 5, "{stops}");
    assert_eq!(files(&out), whole);
}

#[test]
fn another_code_length_trains_a_codebook_and_fixed_options_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let source = open(&bytes().write(dir.path()));
    let options = BuildOptions { pq_bytes: 8, page_size: 8192, ..source.options() };
    assert!(!source.keeps_codebook(&options));
    let out = dir.path().join("index");
    build_from_graph(&source, &out, &options, &Silent).unwrap();
    assert_sound(&out, ROWS as u64);
    let wrong = [
        (BuildOptions { degree: 13, ..source.options() }, "degree is 13; expected 12"),
        (BuildOptions { metric: Metric::Cosine, ..source.options() }, "metric is cosine; expected l2"),
        (BuildOptions { keys: Some(vec![1]), ..source.options() }, "keys is a list"),
    ];
    for (options, expected) in wrong {
        let error = build_from_graph(&source, &dir.path().join("no"), &options, &Silent).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

/// Pages of a permutation, the first of which is not full.
fn shuffled<T: Element>(foreign: &Foreign<T>) -> Vec<Vec<u32>> {
    let nodes = foreign.nodes();
    let mut ids = (0..nodes).map(|id| id * 7 % nodes);
    let mut pages = vec![ids.by_ref().take(foreign.per_sector() - 2).collect::<Vec<u32>>()];
    loop {
        let page: Vec<u32> = ids.by_ref().take(foreign.per_sector()).collect();
        if page.is_empty() {
            return pages;
        }
        pages.push(page);
    }
}

#[test]
fn a_partition_keeps_pages_together() {
    let foreign = bytes();
    let pages = shuffled(&foreign);
    assert_eq!(pages.len(), foreign.pages().len(), "so that both layouts have one length");
    let partitions = [
        ("_partition.bin", partition(foreign.per_sector(), &pages)),
        ("_partition.bin.aligned", aligned_partition(foreign.per_sector(), &pages)),
    ];
    for (name, content) in partitions {
        for laid_out in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let prefix = foreign.write(dir.path());
            put(&prefix, name, &content);
            if laid_out {
                put(&prefix, "_disk.index", &foreign.disk(&pages));
            }
            let source = open(&prefix);
            let notes = source.notes().join("; ");
            assert_eq!(notes.contains("is not laid out by the partition"), !laid_out, "{notes}");
            assert!(notes.contains("1 pages of the partition are not full"), "{notes}");
            let (index, keys) = built(&source, &dir.path().join("index"));
            let full: Vec<u64> = pages
                .iter()
                .filter(|page| page.len() == foreign.per_sector())
                .flatten()
                .map(|&id| id.into())
                .collect();
            assert_eq!(keys[..full.len()], full);
            assert_same(&foreign, &index, &keys);
            assert_codes(&foreign, &index, &keys);
        }
    }
}

#[test]
fn tags_become_keys() {
    let dir = tempfile::tempdir().unwrap();
    let foreign = bytes();
    let prefix = foreign.write(dir.path());
    let tags: Vec<u32> = (0..ROWS as u32).map(|id| 5000 - id).collect();
    put(&prefix, "_disk.index.tags", &array(ROWS as u32, 1, bytemuck::cast_slice(&tags)));
    let (_, keys) = built(&open(&prefix), &dir.path().join("index"));
    assert_eq!(keys, tags.iter().map(|&tag| tag.into()).collect::<Vec<u64>>());
    put(&prefix, "_disk.index.tags", &array(ROWS as u32 - 1, 1, bytemuck::cast_slice(&tags[1..])));
    let error = refusal(&DiskAnnFiles::new(&prefix));
    assert!(error.contains("the array of keys is 289 × 1, expected 290 × 1"), "{error}");
}

#[test]
fn a_codebook_that_cannot_be_ours_is_trained_anew_and_the_reason_given() {
    let foreign = bytes();
    let opened = |change: &dyn Fn(&Path)| {
        let dir = tempfile::tempdir().unwrap();
        let prefix = foreign.write(dir.path());
        change(&prefix);
        let files = DiskAnnFiles { element: Some(ElementType::U8), ..DiskAnnFiles::new(&prefix) };
        let source = GraphSource::from_diskann(&files).unwrap();
        if !source.keeps_codebook(&source.options()) {
            let options = BuildOptions { pq_bytes: 4, ..source.options() };
            build_from_graph(&source, &dir.path().join("index"), &options, &Silent).unwrap();
            assert_sound(&dir.path().join("index"), ROWS as u64);
        }
        (source.keeps_codebook(&source.options()), source.notes().join("; "))
    };
    let identity: Vec<u32> = (0..16).collect();
    let same = opened(&|prefix| drop(put(prefix, "_pq_pivots.bin", &foreign.pivots(Some(&identity)))));
    assert_eq!(same, (true, String::new()));
    let dealt: Vec<u32> = (0..16).map(|d| d * 5 % 16).collect();
    let cases: [(Change<'_>, &str); 4] = [
        (
            &|prefix| drop(put(prefix, "_pq_pivots.bin", &foreign.pivots(Some(&dealt)))),
            "not stretches of consecutive dimensions",
        ),
        (&|prefix| drop(put(prefix, "_pq_pivots.bin_rotation_matrix.bin", b"")), "rotated vectors"),
        (
            &|prefix| {
                let mut codes = foreign.codes();
                codes[8..].iter_mut().for_each(|code| *code ^= 1);
                put(prefix, "_pq_compressed.bin", &codes);
            },
            "only 0.0 % of the codes",
        ),
        (
            &|prefix| std::fs::remove_file(format!("{}_pq_pivots.bin", prefix.display())).unwrap(),
            "there is no _pq_pivots.bin",
        ),
    ];
    for (change, expected) in cases {
        let (kept, notes) = opened(change);
        assert!(!kept && notes.contains(expected), "{notes}");
    }
    let (kept, notes) =
        opened(&|prefix| std::fs::remove_file(format!("{}_pq_compressed.bin", prefix.display())).unwrap());
    assert!(kept && notes.contains("no _pq_compressed.bin"), "{notes}");
}

#[test]
fn the_sign_of_bytes_shows_in_the_codes_or_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let foreign = Foreign::new(clustered::<i8>(ROWS, 16, 3), 12);
    let prefix = foreign.write(dir.path());
    assert_eq!(open(&prefix).element(), ElementType::I8);
    std::fs::remove_file(format!("{}_pq_compressed.bin", prefix.display())).unwrap();
    let error = refusal(&DiskAnnFiles::new(&prefix));
    assert!(error.contains("its vectors may be u8 or i8; name the element type"), "{error}");
    let told = DiskAnnFiles { element: Some(ElementType::I8), ..DiskAnnFiles::new(&prefix) };
    assert_eq!(GraphSource::from_diskann(&told).unwrap().element(), ElementType::I8);
    let metadata: Vec<u8> = [1u64, 0, ROWS as u64, 16].iter().flat_map(|n| n.to_le_bytes()).collect();
    put(&prefix, "_metadata.bin", &metadata);
    assert_eq!(open(&prefix).element(), ElementType::I8);
    let wrong = DiskAnnFiles { metric: Some(Metric::Cosine), ..DiskAnnFiles::new(&prefix) };
    assert!(refusal(&wrong).contains("the metric is l2, expected cosine, as given"));
    let f16 = DiskAnnFiles { element: Some(ElementType::F16), ..DiskAnnFiles::new(&prefix) };
    assert!(refusal(&f16).contains("the element type is i8, expected f16"), "{}", refusal(&f16));
}

/// A file of the index with a word of it replaced.
fn patched(prefix: &Path, rest: &str, (at, word): (usize, u32)) -> PathBuf {
    let path = PathBuf::from(format!("{}{rest}", prefix.display()));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn impossible_fields_are_named() {
    let node = SECTOR + 16;
    let cases: [(&str, (usize, u32), &str); 23] = [
        ("_disk.index", (0, 4), "the header is an array of 4 × 1"),
        ("_disk.index", (4, 2), "the header is an array of 9 × 2"),
        ("_disk.index", (0, u32::MAX), "the size of an array"),
        ("_disk.index", (8, 0), "the number of points is 0"),
        ("_disk.index", (12, 1), "the number of points is 4294967586"),
        ("_disk.index", (8, 301), "the length in bytes is 24576, expected 28672 for 301 nodes"),
        ("_pq_compressed.bin", (0, 289), "the array of codes is 289 × 4, expected 290 × 4"),
        ("_disk.index", (16, 0), "the dimension is 0"),
        ("_disk.index", (16, 9000), "the dimension is 9000"),
        ("_disk.index", (24, 290), "the medoid is 290, expected 0 to 289"),
        ("_disk.index", (32, 0), "the bytes of a node is 0"),
        ("_disk.index", (32, 1 << 20), "the bytes of a node is 1048576"),
        ("_disk.index", (40, 61), "the nodes of a sector is 61, expected 60"),
        ("_disk.index", (48, 1), "the number of frozen points is 1"),
        ("_disk.index", (64, 1), "the flag of reorder data is 1"),
        ("_disk.index", (72, 1), "the file size in the header is"),
        ("_disk.index", (80, 4), "the bytes of data a node is 4"),
        ("_disk.index", (node, 13), "a degree is 13 in node 0, expected at most 12"),
        ("_disk.index", (node + 4, 290), "a neighbour is 290 in node 0, expected a point below 290"),
        ("_pq_pivots.bin", (0, 3), "the array of offsets is 3 × 1"),
        ("_pq_pivots.bin", (12, 1), "the length in bytes is"),
        ("_pq_pivots.bin", (SECTOR, 300), "the size of an array"),
        ("_pq_compressed.bin", (4, 5), "the size of an array"),
    ];
    for (rest, patch, expected) in cases {
        let dir = tempfile::tempdir().unwrap();
        let prefix = bytes().write(dir.path());
        if patch.0 == 80 {
            // Ten values, as DiskANN in Rust has them.
            patched(&prefix, rest, (0, 10));
        }
        let path = patched(&prefix, rest, patch);
        let files = DiskAnnFiles { element: Some(ElementType::U8), ..DiskAnnFiles::new(&prefix) };
        let error = match GraphSource::from_diskann(&files) {
            Err(error) => error.to_string(),
            Ok(source) => build_from_graph(&source, &dir.path().join("index"), &source.options(), &Silent)
                .expect_err(expected)
                .to_string(),
        };
        assert!(
            error.contains(expected) && error.contains(path.to_str().unwrap()),
            "{rest} {patch:?}: {error}"
        );
    }
}

#[test]
fn cut_files_are_refused() {
    for rest in ["_disk.index", "_pq_pivots.bin", "_pq_compressed.bin"] {
        let dir = tempfile::tempdir().unwrap();
        let prefix = bytes().write(dir.path());
        let path = format!("{}{rest}", prefix.display());
        let whole = std::fs::read(&path).unwrap();
        let cuts = (0..whole.len()).step_by(997).chain([7, 8, 9, 79, whole.len() - 1]);
        for cut in cuts {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let error = refusal(&DiskAnnFiles::new(&prefix));
            assert!(error.contains(rest), "{rest} cut at {cut}: {error}");
        }
        std::fs::write(&path, [&whole[..], &[0]].concat()).unwrap();
        if rest != "_pq_pivots.bin" {
            let error = refusal(&DiskAnnFiles::new(&prefix));
            assert!(error.contains("the length in bytes") || error.contains("the file size"), "{error}");
        }
    }
}

#[test]
fn broken_partitions_are_refused() {
    let foreign = bytes();
    let per_page = foreign.per_sector();
    let pages = shuffled(&foreign);
    let mut twice = pages.clone();
    twice[2][1] = twice[0][0];
    let mut stranger = pages.clone();
    stranger[1][0] = 290;
    let mut gone = pages.clone();
    gone.last_mut().unwrap().pop();
    let aligned = |pages: &[Vec<u32>]| aligned_partition(per_page, pages);
    let patched = |at: usize, value: u64| {
        let mut bytes = aligned(&pages);
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        bytes
    };
    let cases = [
        (aligned(&twice), "expected every node once (this is twice)"),
        (aligned(&stranger), "expected every node once (this is no node)"),
        (aligned(&gone), "the number of nodes is 289"),
        (patched(0, 61), "the nodes of a page is 61, expected 60"),
        (patched(8, 2), "the number of pages is 2"),
        (patched(8, u64::MAX), "the number of pages is 18446744073709551615"),
        (patched(16, 1 << 40), "the number of nodes is 1099511627776"),
        (aligned(&pages)[..100].to_vec(), "the length in bytes is 100"),
        (aligned(&pages)[..20].to_vec(), "the length in bytes is 20"),
    ];
    for (content, expected) in cases {
        let dir = tempfile::tempdir().unwrap();
        let prefix = foreign.write(dir.path());
        put(&prefix, "_partition.bin.aligned", &content);
        let error = refusal(&DiskAnnFiles::new(&prefix));
        assert!(error.contains(expected) && error.contains("_partition.bin.aligned"), "{error}");
    }
}

#[test]
fn what_has_no_counterpart_is_refused_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = bytes().write(dir.path());
    let error = refusal(&DiskAnnFiles::new(dir.path().join("other")));
    assert!(error.contains("opening") && error.contains("other_disk.index"), "{error}");
    let norm = put(&prefix, "_disk.index_max_base_norm.bin", &array(1, 1, &2f32.to_le_bytes()));
    assert!(refusal(&DiskAnnFiles::new(&prefix)).contains("was built for inner products"));
    let ip = DiskAnnFiles { metric: Some(Metric::InnerProduct), ..DiskAnnFiles::new(&prefix) };
    assert!(refusal(&ip).contains("expected one norm above 0 over f32"), "{}", refusal(&ip));
    std::fs::remove_file(norm).unwrap();
    put(&prefix, "_disk.index_pq_pivots.bin", b"");
    assert!(refusal(&DiskAnnFiles::new(&prefix)).contains("compressed vectors"));
}

/// A navigation graph over every tenth node, backwards: a ring with one more edge each.
fn mem_index(tags: &[u32]) -> (Vec<u8>, Vec<u8>) {
    let count = tags.len() as u32;
    let mut lists: Vec<u8> = Vec::new();
    for node in 0..count {
        let list = [(node + 1) % count, (node + 5) % count];
        lists.extend([2, list[0], list[1]].iter().flat_map(|word| word.to_le_bytes()));
    }
    let mut bytes = (24 + lists.len() as u64).to_le_bytes().to_vec();
    bytes.extend(8u32.to_le_bytes());
    bytes.extend(3u32.to_le_bytes());
    bytes.extend(0u64.to_le_bytes());
    bytes.extend(lists);
    (bytes, array(count, 1, bytemuck::cast_slice(tags)))
}

#[test]
fn the_navigation_graph_is_taken_over_in_any_order_of_rows() {
    let foreign = bytes();
    let tags: Vec<u32> = (0..29).map(|at| 289 - 10 * at).collect();
    let (index, tag_file) = mem_index(&tags);
    for (partitioned, packing) in
        [(false, Packing::ById), (true, Packing::ById), (true, Packing::PageShuffle)]
    {
        let dir = tempfile::tempdir().unwrap();
        let prefix = foreign.write(dir.path());
        put(&prefix, "_mem.index", &index);
        put(&prefix, "_mem.index.tags", &tag_file);
        if partitioned {
            put(&prefix, "_partition.bin", &partition(foreign.per_sector(), &shuffled(&foreign)));
            put(&prefix, "_disk.index", &foreign.disk(&shuffled(&foreign)));
        }
        let source = open(&prefix);
        let out = dir.path().join("index");
        let options = BuildOptions { packing, ..source.options() };
        assert!(source.keeps_mem_graph(&options));
        build_from_graph(&source, &out, &options, &Silent).unwrap();
        assert_sound(&out, ROWS as u64);
        let directory = IndexDirectory::open(&out).unwrap();
        let keys = directory.keys().unwrap().unwrap_or_else(|| (0..ROWS as u64).collect());
        let found = directory.mem_graph().unwrap().unwrap();
        let tag = |place: u32| keys[found.nodes[place as usize] as usize] as u32;
        assert_eq!(found.entry.map(tag), Some(tags[3]));
        for place in 0..29 {
            let node = tags.iter().position(|&own| own == tag(place)).unwrap();
            let list: Vec<u32> = found.list(place as usize).iter().map(|&other| tag(other)).collect();
            assert_eq!(list, [tags[(node + 1) % 29], tags[(node + 5) % 29]], "{packing} {place}");
        }
    }
}

#[test]
fn broken_navigation_graphs_are_refused() {
    let tags: Vec<u32> = (0..29).map(|at| 289 - 10 * at).collect();
    let (index, tag_file) = mem_index(&tags);
    let cases: [(&str, (usize, u32), &str); 9] = [
        ("_mem.index", (0, 7), "the file size in the header is 7"),
        ("_mem.index", (8, 0), "the largest degree is 0"),
        ("_mem.index", (8, 1), "a degree is 2 in node 0, expected at most 1"),
        ("_mem.index", (12, 29), "the entry point is 29"),
        ("_mem.index", (16, 1), "the number of frozen points is 1"),
        ("_mem.index", (28, 29), "a neighbour is 29 in node 0"),
        ("_mem.index.tags", (0, 28), "the length in bytes is"),
        ("_mem.index.tags", (8, 290), "a tag is 290, expected a point of the disk index, below 290"),
        ("_mem.index.tags", (8, 279), "a tag is 279 twice"),
    ];
    for (rest, patch, expected) in cases {
        let dir = tempfile::tempdir().unwrap();
        let prefix = bytes().write(dir.path());
        put(&prefix, "_mem.index", &index);
        put(&prefix, "_mem.index.tags", &tag_file);
        let path = patched(&prefix, rest, patch);
        let error = refusal(&DiskAnnFiles::new(&prefix));
        assert!(error.contains(expected) && error.contains(path.to_str().unwrap()), "{patch:?}: {error}");
    }
    let dir = tempfile::tempdir().unwrap();
    let prefix = bytes().write(dir.path());
    put(&prefix, "_mem.index", &index);
    assert!(open(&prefix).notes()[0].contains("no _mem.index.tags"));
}
