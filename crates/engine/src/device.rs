//! What the disk itself can do, measured through the engine's own reads, so that a search can be held against
//! the limit.

use crate::executor::allowed_cpus;
use crate::io::{BlockingPool, Device, Direct, MapIo, Mapped, OpenedFile, RingIo, map_file, open_for_reads};
use crate::options::EngineChoice;
use gleann_storage::{PageIo, RawCompletion, RawRead, ReadBuffers};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Random reads of one size and depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceLoad {
    /// What reads (auto counts as glommio).
    pub engine: EngineChoice,
    /// Bytes a read, a multiple of 4096.
    pub read_bytes: u32,
    /// Reads in flight, all threads together.
    pub depth: usize,
    /// Threads that read; each keeps its share of the depth in flight. At most `depth`.
    pub threads: usize,
    /// How long to measure, after a tenth of it as warm-up.
    pub duration: Duration,
}

/// What was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceFigures {
    /// Reads a second.
    pub iops: f64,
    /// Latencies of the single reads, ascending, in nanoseconds.
    pub latencies_ns: Vec<u64>,
    /// Processor time of this process a read, user and kernel, in microseconds.
    pub cpu_us_per_read: f64,
    /// Whether the reads went past the page cache.
    pub direct: bool,
    /// Name of the file system.
    pub file_system: String,
    /// What to know before the figures are believed.
    pub warning: Option<String>,
}

/// Reads pages of `file` at random as `load` says.
///
/// # Errors
/// The file is shorter than one read or cannot be read, or the engine cannot start.
pub fn measure_device(file: &Path, load: &DeviceLoad) -> io::Result<DeviceFigures> {
    let direct = if load.engine == EngineChoice::Mmap { Direct::Off } else { Direct::Prefer };
    let opened = open_for_reads(file, direct)?;
    let reads = opened.file.metadata()?.len() / u64::from(load.read_bytes);
    if reads == 0 || load.read_bytes == 0 || !load.read_bytes.is_multiple_of(4096) {
        let text = format!("{}: no reads of {} bytes can be made of it", file.display(), load.read_bytes);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let threads = load.threads.clamp(1, load.depth.max(1));
    let before = process_cpu();
    let outcomes: Vec<io::Result<(Vec<u64>, u64, f64)>> = std::thread::scope(|scope| {
        let (cpus, opened) = (allowed_cpus(), &opened);
        let workers: Vec<_> = (0..threads)
            .map(|number| {
                let cpu = cpus[number % cpus.len()];
                let depth = load.depth / threads + usize::from(number < load.depth % threads);
                let worker = Worker { load: *load, depth: depth.max(1), reads, seed: number as u64 };
                scope.spawn(move || {
                    crate::executor::bind_thread(cpu);
                    worker.run(device(load.engine, opened, depth.max(1))?)
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| Err(io::Error::other("a reader ended"))))
            .collect()
    });
    let cpu = process_cpu() - before;
    let (mut latencies, mut iops, mut all) = (Vec::new(), 0.0, 0);
    for outcome in outcomes {
        let (mut own, total, rate) = outcome?;
        latencies.append(&mut own);
        all += total;
        iops += rate;
    }
    latencies.sort_unstable();
    Ok(DeviceFigures {
        iops,
        latencies_ns: latencies,
        cpu_us_per_read: cpu.as_secs_f64() * 1e6 / all.max(1) as f64,
        direct: opened.direct,
        file_system: opened.medium.file_system,
        warning: opened.warning,
    })
}

fn device(engine: EngineChoice, opened: &OpenedFile, depth: usize) -> io::Result<Device> {
    let file = opened.file.try_clone()?;
    Ok(match engine {
        EngineChoice::Auto | EngineChoice::Glommio => Device::Ring(RingIo::new(file, depth)?),
        EngineChoice::Pool => Device::Pool(BlockingPool::start(Arc::new(file), depth)?.core(depth)),
        EngineChoice::Mmap => Device::Map(MapIo::new(Mapped(Arc::new(map_file(&file)?)), depth)),
    })
}

struct Worker {
    load: DeviceLoad,
    depth: usize,
    reads: u64,
    seed: u64,
}

impl Worker {
    /// Latencies, number of all reads (warm-up included), and reads a second.
    fn run(&self, mut device: Device) -> io::Result<(Vec<u64>, u64, f64)> {
        let length = self.load.read_bytes;
        let mut buffers = ReadBuffers::new(self.depth, length as usize);
        let mut random = Pcg64Mcg::seed_from_u64(self.seed);
        let mut started = vec![Instant::now(); self.depth];
        let mut idle: Vec<u32> = (0..self.depth as u32).collect();
        let (mut done, mut latencies, mut total) = (Vec::<RawCompletion>::new(), Vec::new(), 0);
        let begin = Instant::now() + self.load.duration / 10;
        let end = begin + self.load.duration;
        loop {
            let now = Instant::now();
            let open = now < end;
            if open {
                for token in idle.drain(..) {
                    let offset = random.random_range(0..self.reads) * u64::from(length);
                    started[token as usize] = now;
                    let read = RawRead { token, offset, buffer: buffers.start(token), length };
                    // SAFETY: each buffer has one token, which is idle, and `buffers` outlives the loop, which
                    // ends only when nothing is in flight (or leaks them).
                    unsafe { device.submit(&[read]) }?;
                }
            } else if device.in_flight() == 0 {
                break;
            }
            if let Err(error) = device.wait(1, Duration::from_secs(1)) {
                buffers.leak();
                return Err(error);
            }
            device.reap(&mut done);
            let now = Instant::now();
            for completion in done.drain(..) {
                if completion.result != length as i32 {
                    buffers.leak();
                    return Err(io::Error::from_raw_os_error(-completion.result.min(-1)));
                }
                let begun = started[completion.token as usize];
                total += 1;
                if begun >= begin && now <= end {
                    latencies.push((now - begun).as_nanos() as u64);
                }
                idle.push(completion.token);
            }
        }
        let rate = latencies.len() as f64 / self.load.duration.as_secs_f64();
        Ok((latencies, total, rate))
    }
}

/// Processor time this process has used, user and kernel.
pub fn process_cpu() -> Duration {
    // SAFETY: an all-zero rusage is a valid value, and getrusage fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let of = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    of(usage.ru_utime) + of(usage.ru_stime)
}
