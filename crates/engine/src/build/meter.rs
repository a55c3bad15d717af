//! Time, CPU time and peak memory of a phase.

use serde::{Deserialize, Serialize};
use std::time::Instant;

/// What a phase took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spent {
    pub seconds: f64,
    pub cpu_seconds: f64,
    pub peak_rss_bytes: u64,
}

/// A phase being measured.
#[derive(Debug)]
pub(crate) struct Meter {
    begun: Instant,
    cpu: f64,
}

impl Meter {
    /// Begins. Memory that earlier phases have freed goes back to the system, and the high-water mark of this
    /// process starts anew where the system lets it; elsewhere the peak includes what came before.
    pub(crate) fn start() -> Self {
        map_large_allocations();
        return_freed_memory();
        // Not allowed in some containers; then the mark is merely that of the whole process.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        Self { begun: Instant::now(), cpu: cpu_seconds() }
    }

    pub(crate) fn stop(&self) -> Spent {
        Spent {
            seconds: self.begun.elapsed().as_secs_f64(),
            cpu_seconds: cpu_seconds() - self.cpu,
            peak_rss_bytes: peak_rss_bytes(),
        }
    }
}

/// Allocations above which glibc maps each on its own, as it begins with.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_ALLOCATION: libc::c_int = 128 << 10;

/// Has the allocator map every large allocation on its own for good. It would raise the threshold to the largest
/// piece ever freed, and then keep such pieces in an arena of each thread: a phase that stays within its budget took
/// twice as much, and not the same twice.
fn map_large_allocations() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the parameter is one that glibc knows, and it takes the allocator's own locks.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_ALLOCATION);
    }
}

/// Hands freed memory back: the allocator keeps it otherwise, and it would count against the next phase.
pub(crate) fn return_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: no arguments that could be wrong; it takes the allocator's own locks.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// CPU seconds of all threads of this process so far.
fn cpu_seconds() -> f64 {
    // SAFETY: all zeros is a value of this plain structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` outlives the call.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// The high-water mark of resident memory; 0 where it cannot be told.
fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
