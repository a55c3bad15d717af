//! One type for the engine's disks, so that the search loop is compiled once per element type.

use crate::io::{MapIo, PoolIo, RingIo};
use gleann_storage::{PageIo, RawCompletion, RawRead};
use std::io;
use std::time::Duration;

/// The disk of one core.
#[allow(clippy::large_enum_variant)] // there is one of them a core
pub(crate) enum Device {
    Ring(RingIo),
    Pool(PoolIo),
    Map(MapIo),
}

macro_rules! each {
    ($self:expr, $io:ident => $call:expr) => {
        match $self {
            Device::Ring($io) => $call,
            Device::Pool($io) => $call,
            Device::Map($io) => $call,
        }
    };
}

impl PageIo for Device {
    unsafe fn submit(&mut self, reads: &[RawRead]) -> io::Result<()> {
        // SAFETY: the caller's promise, passed on.
        each!(self, io => unsafe { io.submit(reads) })
    }

    fn flush(&mut self) -> io::Result<()> {
        each!(self, io => io.flush())
    }

    fn arrived(&self) -> usize {
        each!(self, io => io.arrived())
    }

    fn reap(&mut self, into: &mut Vec<RawCompletion>) -> usize {
        each!(self, io => io.reap(into))
    }

    fn wait(&mut self, wanted: usize, timeout: Duration) -> io::Result<()> {
        each!(self, io => io.wait(wanted, timeout))
    }

    fn in_flight(&self) -> usize {
        each!(self, io => io.in_flight())
    }

    fn capacity(&self) -> usize {
        each!(self, io => io.capacity())
    }
}
