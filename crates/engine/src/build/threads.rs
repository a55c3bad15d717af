//! Threads of a build.

use super::BuildError;
use rayon::ThreadPool;

/// How many threads are wanted, at least 1; 0 stands for as many as this process may run on.
pub(crate) fn wanted_threads(threads: usize) -> usize {
    match threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    }
}

/// A pool of so many threads.
///
/// # Errors
/// The system refused.
pub(crate) fn thread_pool(threads: usize) -> Result<ThreadPool, BuildError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| BuildError::Threads { threads, message: error.to_string() })
}
