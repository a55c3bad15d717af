//! Progress on the console: a live line on a terminal, a plain line now and then elsewhere. Ctrl-C stops the work at its
//! next safe point; a second one ends the program at once.

use crate::build_index::seconds;
use gleann_vector::Progress;
use std::io::{IsTerminal, Write, stderr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Between two lines.
const PLAIN: Duration = Duration::from_secs(10);
/// Between two states of the live line.
const LIVE: Duration = Duration::from_millis(200);

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn interrupt(_: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// Shows phases, what is done, the rate and the time left.
#[derive(Debug)]
pub struct Console {
    live: bool,
    quiet: bool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    name: String,
    total: u64,
    done: u64,
    begun: Instant,
    shown: Instant,
    /// Whether a live line is on the screen.
    open: bool,
    told: bool,
}

impl Console {
    /// Begins to listen, to the work and to Ctrl-C.
    pub fn start(quiet: bool) -> Self {
        // SAFETY: all zeros is a value of this plain structure.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = interrupt as *const () as libc::sighandler_t;
        // The second Ctrl-C does what it always does.
        action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
        // SAFETY: the handler stores to an atomic and does nothing else; the structure outlives the call.
        unsafe { libc::sigaction(libc::SIGINT, &raw const action, std::ptr::null_mut()) };
        let now = Instant::now();
        let state = State {
            name: String::new(),
            total: 0,
            done: 0,
            begun: now,
            shown: now,
            open: false,
            told: false,
        };
        Self { live: !quiet && stderr().is_terminal(), quiet, state: Mutex::new(state) }
    }

    /// Ends the last phase's line.
    pub fn end(&self) {
        self.with(|console, state| console.close(state));
    }

    fn with(&self, work: impl FnOnce(&Self, &mut State)) {
        if self.quiet {
            return;
        }
        // A poisoned lock means that another thread has failed; its error is what matters then.
        if let Ok(mut state) = self.state.lock() {
            work(self, &mut state);
        }
    }

    fn close(&self, state: &mut State) {
        if state.name.is_empty() {
            return;
        }
        let took = state.begun.elapsed();
        // Many short phases would scroll away the long ones.
        if self.live || took >= Duration::from_secs(1) {
            self.print(state, &format!("{}: {}", state.name, seconds(took.as_secs_f64())), true);
        }
        state.name.clear();
    }

    fn print(&self, state: &mut State, line: &str, last: bool) {
        let mut out = stderr().lock();
        // Nobody is left to be told where the console is gone.
        let _ = match (self.live, last) {
            (true, false) => write!(out, "\r\x1b[K{line}").and_then(|()| out.flush()),
            (true, true) => writeln!(out, "\r\x1b[K{line}"),
            (false, _) => writeln!(out, "{line}"),
        };
        state.open = self.live && !last;
        state.shown = Instant::now();
    }
}

impl Progress for Console {
    fn phase(&self, name: &str, total: u64) {
        self.with(|console, state| {
            console.close(state);
            let now = Instant::now();
            (state.name, state.total, state.done) = (name.to_owned(), total, 0);
            (state.begun, state.shown) = (now, now);
            if console.live {
                console.print(state, &format!("{name} …"), false);
            }
        });
    }

    fn advance(&self, done: u64) {
        self.with(|console, state| {
            state.done += done;
            let every = if console.live { LIVE } else { PLAIN };
            if state.shown.elapsed() >= every {
                let line = line(&state.name, state.done, state.total, state.begun.elapsed());
                console.print(state, &line, false);
            }
        });
    }

    fn cancelled(&self) -> bool {
        let stop = INTERRUPTED.load(Ordering::Relaxed);
        if stop {
            self.with(|console, state| {
                if !std::mem::replace(&mut state.told, true) {
                    console.print(state, "stopping at the next safe point …", true);
                }
            });
        }
        stop
    }
}

/// One state of a phase, for people.
fn line(name: &str, done: u64, total: u64, elapsed: Duration) -> String {
    let rate = done as f64 / elapsed.as_secs_f64().max(1e-9);
    if total == 0 {
        return format!("{name}: {done} done, {rate:.0}/s");
    }
    let left = seconds(total.saturating_sub(done) as f64 / rate.max(1e-9));
    let percent = 100.0 * done as f64 / total as f64;
    format!("{name}: {done} of {total} ({percent:.0} %), {rate:.0}/s, {left} left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_rate_and_time_left() {
        let text = line("insert", 250, 1000, Duration::from_secs(5));
        assert_eq!(text, "insert: 250 of 1000 (25 %), 50/s, 15.0 s left");
        assert_eq!(line("scan", 10, 0, Duration::from_secs(2)), "scan: 10 done, 5/s");
    }
}
