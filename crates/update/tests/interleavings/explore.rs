//! Which orders are tried.

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner};

/// Switches of threads that a schedule of the second kind puts where they hurt.
const SWITCHES: usize = 3;
/// Opening a log is more than the usual stack has room for.
const STACK_BYTES: usize = 1 << 19;

/// Runs `model` in `rounds` random orders, and in as many where threads run long and few switches are anywhere. The same
/// ones every time; `GLEANN_ORDERS` multiplies them. A failure prints the order, for `shuttle::replay`.
pub fn explore(rounds: usize, model: impl Fn() + Send + Sync + Clone + 'static) {
    let times = std::env::var("GLEANN_ORDERS").map_or(1, |times| times.parse().expect("a number"));
    let rounds = rounds * times;
    run(RandomScheduler::new_from_seed(1, rounds), model.clone());
    run(PctScheduler::new_from_seed(1, SWITCHES, rounds), model);
}

fn run(scheduler: impl Scheduler + 'static, model: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    Runner::new(scheduler, config).run(model);
}
