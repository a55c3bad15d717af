//! Arguments that every workload with updates takes.

use super::arm::{Arm, LiosArgs};
use super::arrivals::Arrivals;
use super::row::Setup;
use anyhow::{Context, Result, ensure};
use gleann::{
    Backend, Direct, Durability, EngineChoice, Index, MAX_IN_FLIGHT, MAX_THREADS, OpenOptions, RepairPolicy,
    SearchKind, SearchOptions, UpdateOptions, Width, parse_bytes,
};
use std::str::FromStr;

/// Clients that make changes, by thread that works on them, where nobody names a number: enough that a group of changes shares a
/// flush of the log.
const CLIENTS_PER_THREAD: usize = 8;
/// Clients beyond those that are busy where searches come at moments of their own.
const OPEN_CLIENTS: usize = 64;

/// How a live index is made, opened, changed and searched.
#[derive(Debug, Clone, clap::Args)]
pub struct LiveArgs {
    /// How inserts reach the graph: fresh (buffered, merged) or odin (each at once) [default: that of the index, if it is
    /// live]
    #[arg(long)]
    backend: Option<Backend>,
    /// When an update is acknowledged: each (when it is on the disk), group:TIME (when its group is), none
    #[arg(long, default_value = "group:5ms")]
    durability: Durability,
    /// Pool of the search for a new vector's neighbours
    #[arg(long, default_value_t = 96, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    insert_list: u32,
    /// Inserts interleaved per updating thread
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=MAX_IN_FLIGHT as i64))]
    insert_in_flight: u32,
    /// Memory for changes; past it they are written out in the background
    #[arg(long, default_value = "64MiB", value_parser = parse_bytes)]
    update_memory: u64,
    /// fresh: vectors that are buffered before they are merged in the background
    #[arg(long, default_value_t = 30_000, value_parser = clap::value_parser!(u32).range(1..))]
    buffer_vectors: u32,
    /// Share of deleted vectors past which their places are freed in the background; those of this workload are freed when
    /// it says so
    #[arg(long, default_value = "100%", value_parser = percent)]
    consolidate_share: f64,
    /// What of a deleted node's neighbours takes its place in a list: all, or nearest:N
    #[arg(long, default_value_t = RepairPolicy::NEAREST)]
    repair: RepairPolicy,
    /// Memory for blocks that inserts and merges have read
    #[arg(long, default_value = "256MiB", value_parser = parse_bytes)]
    update_cache: u64,
    /// Searching and updating threads; with --lios there need be no updating ones
    #[arg(long, default_value = "1/1", value_name = "S/U")]
    threads: Threads,
    /// Searches interleaved per searching thread
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=MAX_IN_FLIGHT as i64))]
    in_flight: u32,
    /// Offer so many searches a second (Poisson arrivals; latency counts from the arrival) instead of searching without a pause
    #[arg(long, value_name = "SEARCHES_A_SECOND", value_parser = crate::run_bench::positive)]
    rate: Option<f64>,
    /// Offer so many times as many for two seconds of every ten
    #[arg(long, default_value_t = 1.0, requires = "rate", value_parser = crate::run_bench::positive)]
    burst: f64,
    /// Clients that make changes, each waiting for its answer [default: 8 per thread that works on
    /// them]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    update_clients: Option<u32>,
    /// I/O engine: auto, glommio, pool or mmap
    #[arg(long, default_value = "auto")]
    engine: EngineChoice,
    /// Traversal: beam or pipe
    #[arg(long, default_value = "beam")]
    search: SearchKind,
    /// Reads in flight of one search: a number, dynamic, or dynamic:START-MAX [default: 4 for beam, dynamic for pipe]
    #[arg(long)]
    width: Option<Width>,
    /// Candidate list length, L; at least k
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    list: u32,
    /// Neighbours asked for
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub k: u32,
    /// Measure even if reads go through the page cache
    #[arg(long)]
    allow_buffered: bool,
    #[command(flatten)]
    lios: LiosArgs,
    /// The arm that is run.
    #[arg(skip)]
    arm: Arm,
}

/// Threads that search and threads that update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threads {
    /// Searching.
    pub search: usize,
    /// Updating.
    pub update: usize,
}

impl FromStr for Threads {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let count =
            |text: &str, least| text.parse().ok().filter(|count| (least..=MAX_THREADS).contains(count));
        let threads = text
            .split_once('/')
            .and_then(|(search, update)| Some(Self { search: count(search, 1)?, update: count(update, 0)? }));
        threads.ok_or_else(|| {
            format!("expected SEARCHING/UPDATING threads, each up to {MAX_THREADS}, such as 1/1")
        })
    }
}

/// A share, written as percent, as a number from 0 to 1.
fn percent(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|percent| percent.trim().parse().ok());
    let percent = percent.filter(|percent: &f64| (0.0..=100.0).contains(percent));
    percent.map(|percent| percent / 100.0).ok_or_else(|| "expected a share such as 5%".to_owned())
}

/// A number of vectors, or a share of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// So many.
    Count(u64),
    /// From 0 to 1.
    Share(f64),
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let amount = text.parse().ok().map(Amount::Count).or_else(|| percent(text).ok().map(Amount::Share));
        amount.ok_or_else(|| "expected a number of vectors, or a share such as 5%".to_owned())
    }
}

impl Amount {
    /// How many of `all` that is.
    pub fn of(self, all: u64) -> u64 {
        match self {
            Amount::Count(count) => count,
            Amount::Share(share) => (share * all as f64).round() as u64,
        }
    }
}

impl LiveArgs {
    /// What is to be compared: the same run with each way of using the waits of searches.
    pub fn arms(&self) -> Vec<Self> {
        self.lios.arms().into_iter().map(|arm| Self { arm, ..self.clone() }).collect()
    }

    /// The one way that is to be run.
    ///
    /// # Errors
    /// Several are named.
    pub fn one_arm(&self) -> Result<Self> {
        let mut arms = self.arms();
        ensure!(
            arms.len() == 1,
            "--lios: {} ways are named; expected one, which `updates` alone compares",
            arms.len()
        );
        Ok(arms.remove(0))
    }

    /// The way of using the waits of searches.
    pub fn arm(&self) -> &Arm {
        &self.arm
    }

    /// The backend asked for.
    ///
    /// # Errors
    /// None was.
    pub fn backend(&self) -> Result<Backend> {
        self.backend.context("--backend is missing: fresh or odin")
    }

    /// How it is opened.
    pub fn open_options(&self) -> OpenOptions {
        OpenOptions {
            engine: self.engine,
            threads: self.threads.search,
            in_flight: self.in_flight as usize,
            direct: Direct::Prefer,
            updates: UpdateOptions {
                durability: self.durability,
                threads: self.threads.update,
                in_flight: self.insert_in_flight as usize,
                list: self.insert_list as usize,
                memory: usize::try_from(self.update_memory).unwrap_or(usize::MAX),
                buffer_vectors: self.buffer_vectors as usize,
                consolidate_share: self.consolidate_share,
                repair: self.repair,
                cache: self.update_cache as usize,
                lios: self.arm.options(self.search),
                prefetch: self.arm.prefetch(),
                ..UpdateOptions::default()
            },
            ..OpenOptions::default()
        }
    }

    /// How it is searched.
    ///
    /// # Errors
    /// The list is shorter than k.
    pub fn search_options(&self) -> Result<SearchOptions> {
        ensure!(self.list >= self.k, "--list {}: expected at least k = {}", self.list, self.k);
        Ok(SearchOptions {
            list: self.list as usize,
            kind: self.search,
            width: self.width(),
            ..SearchOptions::default()
        })
    }

    fn width(&self) -> Width {
        self.width.unwrap_or(match self.search {
            SearchKind::Beam => Width::Fixed(4),
            SearchKind::Pipe => Width::DYNAMIC,
        })
    }

    /// Clients that make changes.
    pub fn update_clients(&self) -> usize {
        let Threads { search, update } = self.threads;
        let working = if self.arm.is_off() { update } else { search + update };
        self.update_clients.map_or(CLIENTS_PER_THREAD * working, |clients| clients as usize)
    }

    /// Clients that search: one more than a core interleaves, for each core. Where searches come at moments of their own, so
    /// many that one is free for each.
    pub fn search_clients(&self) -> usize {
        let busy = self.threads.search * (self.in_flight as usize + 1);
        if self.rate.is_some() { busy + OPEN_CLIENTS } else { busy }
    }

    /// When searches come.
    pub fn arrivals(&self) -> Arrivals {
        self.rate.map_or(Arrivals::Saturated, |rate| Arrivals::Open { rate, burst: self.burst })
    }

    /// What every line says of a run on `index`.
    ///
    /// # Errors
    /// The index is not live, has another backend than was asked for, or its reads go through the page cache unasked.
    pub fn setup(&self, index: &Index) -> Result<Setup> {
        let info = index.info();
        info.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
        ensure!(
            info.direct || info.engine == EngineChoice::Mmap || self.allow_buffered,
            "reads go through the page cache here ({}), which measures memory, not the disk; give --allow-buffered to \
             measure it all the same, or put the index on a file system with direct reads",
            info.file_system
        );
        let stats = index
            .live_stats()
            .context("the index is static; `cargo xtask update --make-live` makes it live")?;
        if let Some(wanted) = self.backend {
            ensure!(wanted == stats.backend, "--backend {wanted}: the index was made with {}", stats.backend);
        }
        Ok(Setup {
            backend: stats.backend.to_string(),
            durability: self.durability.to_string(),
            lios: self.arm.to_string(),
            theta: self.arm.theta(),
            budget: self.arm.theta().map(|_| self.arm.budget()),
            tuner: self.arm.theta().map(|_| self.arm.tuner()),
            prefetch: self.arm.theta().map(|_| self.arm.prefetch()),
            search: self.search.to_string(),
            width: Some(self.width()),
            list: self.list,
            k: self.k,
            threads_search: info.threads as u32,
            threads_update: self.threads.update as u32,
            in_flight: info.in_flight as u32,
            rate: self.rate,
            burst: self.rate.map(|_| self.burst),
            update_clients: self.update_clients() as u32,
            degree: info.layout.degree() as u32,
            rounds: 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_and_threads_are_read() {
        assert_eq!("5%".parse::<Amount>().unwrap().of(1000), 50);
        assert_eq!("0.25 %".parse::<Amount>().unwrap().of(1000), 3);
        assert_eq!("70".parse::<Amount>().unwrap().of(1000), 70);
        assert_eq!("28/4".parse::<Threads>(), Ok(Threads { search: 28, update: 4 }));
        for wrong in ["101%", "-1", "five", "5.5"] {
            assert!(wrong.parse::<Amount>().unwrap_err().contains("5%"), "{wrong}");
        }
        for wrong in ["1", "0/1", "1/", "a/b", "1/2/3"] {
            assert!(wrong.parse::<Threads>().unwrap_err().contains("1/1"), "{wrong}");
        }
    }
}
