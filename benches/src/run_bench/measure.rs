//! The measurement: rounds over all points of a sweep, medians of the rounds. A slow minute of the machine hits all
//! points, not one.

use super::command::{Job, Point};
use super::facts::{environment, place, resident_bytes};
use super::load::{Answers, Load, Questions};
use super::table;
use super::workload::Workload;
use crate::row::{Cost, Environment, Latency, Place, Row, median_row};
use crate::sweep::SearchPoint;
use anyhow::{Result, bail};
use gleann::{Direct, Element, ElementType, EngineChoice, Entry, Index, OpenOptions, process_cpu};
use gleann_storage::IndexDirectory;
use half::f16;
use std::time::{Duration, Instant};

/// Queries asked before a point is measured, to fill its scratch memory and to guess its speed.
const WARM_UP: usize = 256;
/// How long an index is warmed up after it was opened, at most; a pass over the queries otherwise.
const OPENING: Duration = Duration::from_secs(2);

/// Measures every point of `job`; `done` is told each row as soon as its last round is over.
///
/// # Errors
/// Files do not belong together, an index cannot be opened or reads through the page cache unasked, or a query
/// fails.
pub fn measure(job: &Job, done: &mut dyn FnMut(&Row) -> Result<()>) -> Result<Vec<Row>> {
    let directory = IndexDirectory::open_any(&job.index)?;
    match directory.manifest().layout.element() {
        ElementType::F32 => Bench::<f32>::new(job, directory)?.all(done),
        ElementType::F16 => Bench::<f16>::new(job, directory)?.all(done),
        ElementType::U8 => Bench::<u8>::new(job, directory)?.all(done),
        ElementType::I8 => Bench::<i8>::new(job, directory)?.all(done),
    }
}

struct Bench<'a, T: Element> {
    job: &'a Job,
    workload: Workload<T>,
    opened: Option<Opened>,
    told: Vec<String>,
    directory: IndexDirectory,
}

struct Opened {
    options: OpenOptions,
    index: Index,
    environment: Environment,
    place: Place,
}

impl<'a, T: Element> Bench<'a, T> {
    fn new(job: &'a Job, directory: IndexDirectory) -> Result<Self> {
        let workload = Workload::load(job, &directory)?;
        Ok(Self { job, workload, opened: None, told: Vec::new(), directory })
    }

    fn all(mut self, done: &mut dyn FnMut(&Row) -> Result<()>) -> Result<Vec<Row>> {
        let points = &self.job.points;
        let mut rounds: Vec<Vec<Row>> = vec![Vec::new(); points.len()];
        let mut rows = Vec::new();
        for round in 1..=self.job.rounds {
            for (at, point) in points.iter().enumerate() {
                self.open(point)?;
                rounds[at].push(self.point(point)?);
                if round < self.job.rounds {
                    table::tell_round(round, &rounds[at]);
                    continue;
                }
                let row = median_row(&rounds[at]).expect("a round has just been measured");
                done(&row)?;
                rows.push(row);
            }
        }
        Ok(rows)
    }

    /// Opens the index as `point` wants it, unless it is open so. One is open at a time: rings count against a limit.
    fn open(&mut self, point: &Point) -> Result<()> {
        let options = open_options(point);
        if self.opened.as_ref().is_some_and(|opened| opened.options == options) {
            return Ok(());
        }
        self.opened = None;
        let index = Index::open(&self.job.index, options.clone())?;
        let info = index.info();
        for warning in &info.warnings {
            if !self.told.contains(warning) {
                eprintln!("warning: {warning}");
                self.told.push(warning.clone());
            }
        }
        if !info.direct && info.engine != EngineChoice::Mmap && !self.job.allow_buffered {
            bail!(
                "{}: reads go through the page cache here ({}), which measures memory, not the disk; give \
                 --allow-buffered to measure it all the same, or put the index on a file system with direct reads",
                self.job.index.display(),
                info.file_system
            );
        }
        let (environment, place) = (environment(info), place(&self.directory, info));
        self.warm_up(&index, point.search)?;
        self.opened = Some(Opened { options, index, environment, place });
        Ok(())
    }

    /// A pass over the queries, or as far as it gets in the time for it.
    fn warm_up(&self, index: &Index, point: SearchPoint) -> Result<()> {
        let (begun, options) = (Instant::now(), point.options());
        for queries in self.workload.queries.as_slice().chunks(WARM_UP * self.workload.queries.dim()) {
            Load::Closed.run(index, Questions { queries, k: self.job.k as usize, options: &options })?;
            if begun.elapsed() > OPENING {
                break;
            }
        }
        Ok(())
    }

    fn point(&self, point: &Point) -> Result<Row> {
        let opened = self.opened.as_ref().expect("opened before a point is measured");
        let (index, options) = (&opened.index, point.search.options());
        let all = self.workload.queries.as_slice();
        let ask = |queries| Questions { queries, k: self.job.k as usize, options: &options };
        let some = &all[..all.len().min(WARM_UP * self.workload.queries.dim())];
        let warm = Load::Closed.run(index, ask(some))?;
        let speed = warm.results.len() as f64 / warm.elapsed.as_secs_f64().max(1e-9);
        let wanted = self.job.seconds * self.job.load.rate().unwrap_or(speed);
        let passes = (wanted / self.workload.queries.rows() as f64).ceil().clamp(1.0, 1000.0);
        let queries = all.repeat(passes as usize);
        let before = Gauges::read(index);
        let answers = self.job.load.run(index, ask(&queries))?;
        let spent = Gauges::read(index).since(&before);
        self.row(point, opened, (&answers, &spent))
    }

    fn row(&self, point: &Point, opened: &Opened, run: (&Answers, &Gauges)) -> Result<Row> {
        let (answers, spent) = run;
        let recalls = self.workload.recalls(&answers.results)?;
        let info = opened.index.info();
        let seconds = answers.elapsed.as_secs_f64();
        let idle: Vec<f64> = spent.idle_ns.iter().map(|&ns| ns as f64 / 1e9 / seconds).collect();
        Ok(Row {
            preset: point.name.clone(),
            search: point.search.search.to_string(),
            width: Some(point.search.width),
            entry: point.search.entry.to_string(),
            expansion: point.search.expansion.to_string(),
            stop: point.search.stop.to_string(),
            cache: point.open.cache.to_string(),
            list: point.search.list,
            k: self.job.k,
            threads: info.threads as u32,
            in_flight: info.in_flight as u32,
            engine: info.engine.to_string(),
            direct: Some(info.direct),
            rounds: 1,
            queries: answers.results.len() as u64,
            rate: self.job.load.rate(),
            recall: recalls.official,
            recall_distance: recalls.distance,
            recall_1_at_k: Some(recalls.first_of_k),
            qps: answers.results.len() as f64 / seconds,
            latency: Latency::of(&mut answers.latencies_us.clone()),
            cost: Cost {
                idle_share: Some(idle.iter().sum::<f64>() / idle.len().max(1) as f64),
                ..cost(answers, spent)
            },
            idle_share_by_core: idle,
            place: opened.place.clone(),
            environment: opened.environment.clone(),
            ..Row::default()
        })
    }
}

/// How `point` wants an index to be opened. The navigation graph is loaded for those who begin at it only: it takes
/// memory, and a cache grows from its nodes too.
fn open_options(point: &Point) -> OpenOptions {
    let open = &point.open;
    OpenOptions {
        engine: open.engine,
        threads: open.threads as usize,
        in_flight: open.in_flight as usize,
        cache: open.cache.clone(),
        mem_graph: point.search.entry != Entry::Medoid,
        direct: Direct::Prefer,
        ..OpenOptions::default()
    }
}

fn cost(answers: &Answers, spent: &Gauges) -> Cost {
    let count = answers.results.len() as f64;
    let sum = |of: fn(&gleann::QueryStats) -> f64| answers.results.iter().map(|r| of(&r.stats)).sum::<f64>();
    let reads = sum(|stats| f64::from(stats.reads));
    let latency = sum(|stats| stats.latency_ns as f64);
    Cost {
        reads_per_query: Some(reads / count),
        pages_per_query: Some(sum(|stats| f64::from(stats.pages)) / count),
        bytes_per_query: Some(sum(|stats| stats.bytes as f64) / count),
        hops_per_query: Some(sum(|stats| f64::from(stats.hops)) / count),
        expanded_per_query: Some(sum(|stats| f64::from(stats.expanded)) / count),
        cache_hits_per_query: Some(sum(|stats| f64::from(stats.cache_hits)) / count),
        comparisons_per_query: Some(sum(|stats| f64::from(stats.comparisons)) / count),
        stall_share: (latency > 0.0).then(|| sum(|stats| stats.stall_ns as f64) / latency),
        cpu_us_per_query: Some(spent.cpu.as_secs_f64() * 1e6 / count),
        search_cpu_us_per_query: Some(sum(|stats| stats.cpu_ns as f64) / 1e3 / count),
        rss_bytes: resident_bytes(),
        device_iops: Some(reads / answers.elapsed.as_secs_f64()),
        idle_share: None,
    }
}

/// What the process and the cores have used up so far.
struct Gauges {
    cpu: Duration,
    idle_ns: Vec<u64>,
}

impl Gauges {
    fn read(index: &Index) -> Self {
        Self { cpu: process_cpu(), idle_ns: index.idle_ns() }
    }

    fn since(self, before: &Self) -> Self {
        let idle_ns = self.idle_ns.iter().zip(&before.idle_ns);
        Self { cpu: self.cpu - before.cpu, idle_ns: idle_ns.map(|(now, then)| now - then).collect() }
    }
}
