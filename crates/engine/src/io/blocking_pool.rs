//! Page reads by threads that call `pread`: for machines where io_uring is forbidden. Many threads, since each
//! keeps one read in flight.

use gleann_storage::{PageIo, RawCompletion, RawRead};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Threads that read one file for all cores.
pub(crate) struct BlockingPool {
    requests: flume::Sender<Request>,
    threads: Vec<JoinHandle<()>>,
}

struct Request {
    read: RawRead,
    done: flume::Sender<RawCompletion>,
}

// SAFETY: the buffer pointer is used by the one thread that makes the read, between submission and completion,
// which is what `PageIo::submit` demands of the submitter.
unsafe impl Send for Request {}

impl BlockingPool {
    /// Starts `threads` threads that read `file`; they end when the pool and its [`PoolIo`]s are gone.
    pub(crate) fn start(file: Arc<File>, threads: usize) -> io::Result<Self> {
        let (requests, queue) = flume::unbounded::<Request>();
        let start = |number| {
            let (file, queue) = (file.clone(), queue.clone());
            std::thread::Builder::new().name(format!("gleann-pread-{number}")).spawn(move || {
                for Request { read, done } in queue.iter() {
                    // The receiver may be gone: its reader waited for this read and gave up.
                    let _ = done.send(RawCompletion { token: read.token, result: pread(&file, &read) });
                }
            })
        };
        let threads = (0..threads.max(1)).map(start).collect::<io::Result<_>>()?;
        Ok(Self { requests, threads })
    }

    /// Waits for the end of the threads, once no [`PoolIo`] is left: then the file is closed.
    pub(crate) fn join(self) {
        drop(self.requests);
        for thread in self.threads {
            let _ = thread.join();
        }
    }

    /// The pool as the disk of one core, at most `capacity` reads at a time.
    pub(crate) fn core(&self, capacity: usize) -> PoolIo {
        let (done, completions) = flume::unbounded();
        PoolIo {
            requests: self.requests.clone(),
            done,
            completions,
            arrived: Vec::new(),
            in_flight: 0,
            capacity,
        }
    }
}

fn pread(file: &File, read: &RawRead) -> i32 {
    // SAFETY: the buffer is valid for `length` bytes and not touched by anyone else until the completion.
    let result = unsafe {
        libc::pread64(
            file.as_raw_fd(),
            read.buffer.cast(),
            read.length as usize,
            read.offset as libc::off64_t,
        )
    };
    if result < 0 { -io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) } else { result as i32 }
}

/// One core's view of the pool.
pub(crate) struct PoolIo {
    requests: flume::Sender<Request>,
    done: flume::Sender<RawCompletion>,
    completions: flume::Receiver<RawCompletion>,
    arrived: Vec<RawCompletion>,
    in_flight: usize,
    capacity: usize,
}

impl PageIo for PoolIo {
    unsafe fn submit(&mut self, reads: &[RawRead]) -> io::Result<()> {
        assert!(self.in_flight + reads.len() <= self.capacity, "more reads than capacity");
        for &read in reads {
            let request = Request { read, done: self.done.clone() };
            self.requests.send(request).map_err(|_| io::Error::other("the reading threads have ended"))?;
            self.in_flight += 1;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn arrived(&self) -> usize {
        self.arrived.len() + self.completions.len()
    }

    fn reap(&mut self, into: &mut Vec<RawCompletion>) -> usize {
        let before = into.len();
        into.append(&mut self.arrived);
        into.extend(self.completions.try_iter());
        let reaped = into.len() - before;
        self.in_flight -= reaped;
        reaped
    }

    fn wait(&mut self, wanted: usize, timeout: Duration) -> io::Result<()> {
        let limit = Instant::now() + timeout;
        while self.arrived.len() < wanted.min(self.in_flight) {
            match self.completions.recv_deadline(limit) {
                Ok(completion) => self.arrived.push(completion),
                Err(_) => break,
            }
        }
        Ok(())
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn capacity(&self) -> usize {
        self.capacity
    }
}
