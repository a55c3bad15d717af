//! Where io_uring is forbidden, or limits are tight: the pool takes over with one warning, nothing leaks, nothing
//! panics.

#![allow(clippy::unwrap_used)] // the helpers of a test may fail the test

mod support;

use gleann::{EngineChoice, Index, Metric, SearchOptions};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use support::child::{
    descriptors, drop_capabilities, forbid_everywhere, forbid_io_uring, in_child, limit, soft_limit, threads,
};
use support::{Built, ENGINES, built, queries, watchdog, with_engine};

static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Logger;

impl log::Log for Logger {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::Level::Warn
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) && record.target().starts_with("gleann") {
            LOGGED.lock().unwrap().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

fn answers_are_right(set: &Built<u8>, index: &Index) {
    let queries = queries::<u8>(5, set.rows.dim());
    for query in 0..queries.rows() {
        let query = queries.row(query);
        let options = SearchOptions { list: 100, ..SearchOptions::default() };
        let hits = index.search(query, 10, &options).unwrap().hits;
        set.check_hits(query, 10, &hits);
        assert!(set.recall(query, &hits) >= 0.9);
    }
}

fn auto_falls_back(errno: i32, cause: &str) {
    let set = built::<u8>(Metric::L2, 200, 16);
    log::set_logger(&Logger).unwrap();
    log::set_max_level(log::LevelFilter::Warn);
    forbid_io_uring(errno);
    let index = set.open(EngineChoice::Auto);
    let info = index.info();
    assert_eq!(info.engine, EngineChoice::Pool);
    let about_io_uring: Vec<_> =
        info.warnings.iter().filter(|warning| !warning.contains("O_DIRECT")).collect();
    assert_eq!(about_io_uring.len(), 1, "{:?}", info.warnings);
    for part in ["io_uring cannot be used", cause, "blocking threads", "seccomp", "io_uring_disabled"] {
        assert!(about_io_uring[0].contains(part), "`{part}` is not in: {}", about_io_uring[0]);
    }
    assert_eq!(*LOGGED.lock().unwrap(), info.warnings, "what is logged is what is kept");
    answers_are_right(&set, &index);

    let error = Index::open(set.path(), with_engine(EngineChoice::Glommio)).unwrap_err().to_string();
    for part in ["engine glommio cannot start", "io_uring cannot be used", cause, "pool"] {
        assert!(error.contains(part), "`{part}` is not in: {error}");
    }
    // Who did not ask for io_uring is not warned of it.
    for engine in [EngineChoice::Pool, EngineChoice::Mmap] {
        let index = set.open(engine);
        assert!(index.info().warnings.iter().all(|warning| !warning.contains("io_uring")));
        answers_are_right(&set, &index);
    }
}

#[test]
fn a_seccomp_filter_that_forbids_io_uring_leads_to_the_pool() {
    let _watchdog = watchdog("EPERM");
    if !in_child("a_seccomp_filter_that_forbids_io_uring_leads_to_the_pool") {
        auto_falls_back(libc::EPERM, "Operation not permitted");
    }
}

#[test]
fn a_kernel_without_io_uring_leads_to_the_pool() {
    let _watchdog = watchdog("ENOSYS");
    if !in_child("a_kernel_without_io_uring_leads_to_the_pool") {
        auto_falls_back(libc::ENOSYS, "Function not implemented");
    }
}

#[test]
fn rings_that_find_no_memory_lead_to_the_pool() {
    let _watchdog = watchdog("ENOMEM");
    if !in_child("rings_that_find_no_memory_lead_to_the_pool") {
        auto_falls_back(libc::ENOMEM, "Cannot allocate memory");
    }
}

#[test]
fn little_locked_memory_is_enough_or_leads_to_the_pool() {
    let _watchdog = watchdog("locked memory");
    if in_child("little_locked_memory_is_enough_or_leads_to_the_pool") {
        return;
    }
    let set = built::<u8>(Metric::L2, 200, 16);
    count_panics();
    drop_capabilities();
    for bytes in [256 << 10, 64 << 10, 0] {
        limit(libc::RLIMIT_MEMLOCK, bytes);
        let index = set.open(EngineChoice::Auto);
        let info = index.info();
        eprintln!("{bytes} bytes may be locked: {} {:?}", info.engine, info.warnings);
        if info.engine == EngineChoice::Pool {
            assert!(info.warnings.iter().any(|warning| warning.contains("ulimit -l")), "{:?}", info.warnings);
        }
        answers_are_right(&set, &index);
        if let Err(error) = Index::open(set.path(), with_engine(EngineChoice::Glommio)) {
            assert!(error.to_string().starts_with("engine glommio cannot start: "), "{error}");
        }
    }
    assert_eq!(PANICS.load(Ordering::Relaxed), 0);
}

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// A panic on a thread of its own would pass unseen.
fn count_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        before(info);
    }));
}

#[test]
fn running_out_of_descriptors_is_an_error_or_leads_to_the_pool() {
    let _watchdog = watchdog("descriptors");
    if in_child("running_out_of_descriptors_is_an_error_or_leads_to_the_pool") {
        return;
    }
    let set = built::<u8>(Metric::L2, 200, 16);
    drop(set.open(EngineChoice::Auto));
    count_panics();
    let open = descriptors();
    let mut opened = [0; 2];
    for more in 0..40 {
        soft_limit(libc::RLIMIT_NOFILE, (open + more) as u64);
        for (number, engine) in [EngineChoice::Auto, EngineChoice::Glommio].into_iter().enumerate() {
            match Index::open(set.path(), with_engine(engine)) {
                Ok(index) => {
                    opened[number] += 1;
                    answers_are_right(&set, &index);
                }
                Err(error) => {
                    let text = error.to_string();
                    assert!(
                        text.contains("Too many open files"),
                        "{more} descriptors left, {engine}: {text}"
                    );
                }
            }
        }
        soft_limit(libc::RLIMIT_NOFILE, 20_000);
        settle(open, usize::MAX);
    }
    assert_eq!(PANICS.load(Ordering::Relaxed), 0, "panics");
    assert!(opened[0] > opened[1] && opened[1] > 0, "{opened:?} opened");
}

/// Waits until no more than so many descriptors and threads are there: the kernel takes rings down in the
/// background.
fn settle(most_descriptors: usize, most_threads: usize) {
    let begun = Instant::now();
    while descriptors() > most_descriptors || threads() > most_threads {
        let now = (descriptors(), threads());
        assert!(begun.elapsed() < Duration::from_secs(10), "{now:?} stay, {most_descriptors} were before");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn two_hundred_openings_leak_nothing() {
    let _watchdog = watchdog("two hundred openings");
    if in_child("two_hundred_openings_leak_nothing") {
        return;
    }
    let set = built::<u8>(Metric::L2, 100, 16);
    limit(libc::RLIMIT_NOFILE, 64);
    for engine in ENGINES {
        drop(set.open(engine));
    }
    let before = (descriptors(), threads());
    for round in 0..200 {
        let index = set.open(ENGINES[round % 3]);
        let row = set.rows.row(round % 100);
        assert_eq!(index.search(row, 1, &SearchOptions::default()).unwrap().hits[0].distance, 0.0);
        if round % 4 == 0 {
            // A failing opening must not leak either.
            let broken = gleann::OpenOptions { in_flight: 0, ..with_engine(EngineChoice::Auto) };
            assert!(Index::open(set.path(), broken).is_err());
        }
        drop(index);
        settle(before.0, before.1);
    }
}

#[test]
fn many_indexes_are_open_at_once() {
    let _watchdog = watchdog("many indexes");
    let set = built::<u8>(Metric::L2, 100, 16);
    let indexes: Vec<Index> = (0..12).map(|number| set.open(ENGINES[number % 3])).collect();
    for index in &indexes {
        answers_are_right(&set, index);
    }
}

#[test]
fn threads_that_cannot_be_started_are_an_error() {
    let _watchdog = watchdog("no threads");
    if in_child("threads_that_cannot_be_started_are_an_error") {
        return;
    }
    let set = built::<u8>(Metric::L2, 100, 16);
    count_panics();
    forbid_everywhere(libc::SYS_clone3, libc::EAGAIN);
    for engine in [EngineChoice::Auto, EngineChoice::Glommio, EngineChoice::Pool, EngineChoice::Mmap] {
        let error = Index::open(set.path(), with_engine(engine)).unwrap_err().to_string();
        let named = if engine == EngineChoice::Auto { EngineChoice::Pool } else { engine };
        assert!(error.starts_with(&format!("engine {named} cannot start: ")), "{error}");
        assert!(error.contains("Resource temporarily unavailable"), "{error}");
    }
    assert_eq!(PANICS.load(Ordering::Relaxed), 0);
}

#[test]
fn a_ring_that_stops_working_fails_searches_and_hangs_none() {
    let _watchdog = watchdog("dead ring");
    if in_child("a_ring_that_stops_working_fails_searches_and_hangs_none") {
        return;
    }
    let set = built::<u8>(Metric::L2, 100, 16);
    let index = set.open(EngineChoice::Auto);
    if index.info().engine != EngineChoice::Glommio {
        return eprintln!("no io_uring here");
    }
    answers_are_right(&set, &index);
    forbid_everywhere(libc::SYS_io_uring_enter, libc::EPERM);
    let options = SearchOptions::default();
    for row in 0..20 {
        let error = index.search(set.rows.row(row), 3, &options).unwrap_err().to_string();
        let told = error.contains("Operation not permitted") || error == "the index was closed";
        assert!(told, "{error}");
    }
    let batch = index.search_batch(set.rows.as_slice(), 3, &options);
    assert_eq!(batch.len(), 100);
    assert!(batch.iter().all(Result::is_err));
}
