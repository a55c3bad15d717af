//! What all cores share, and where they get theirs from.

use crate::core_lios::CoreLios;
use crate::counters::{CoreCounters, CoreTotals};
use crate::options::{BadOption, LiosOptions};
use crate::tuner::SharedTuner;
use parking_lot::Mutex;
use std::sync::Arc;

/// The tuner, and the counters of all cores.
#[derive(Debug)]
pub struct Lios {
    options: LiosOptions,
    tuner: Arc<SharedTuner>,
    cores: Mutex<Vec<Arc<CoreCounters>>>,
}

impl Lios {
    /// With these options, once they are found to make sense.
    pub fn new(options: LiosOptions) -> Result<Self, BadOption> {
        options.validate()?;
        Ok(Self {
            tuner: Arc::new(SharedTuner::new(options.theta, &options.utilisation)),
            cores: Mutex::new(Vec::new()),
            options,
        })
    }

    /// The scheduler of one more core.
    pub fn core(&self) -> CoreLios {
        let core = CoreLios::new(&self.options, Arc::clone(&self.tuner));
        self.cores.lock().push(Arc::clone(core.counters()));
        core
    }

    /// The tuner.
    pub fn tuner(&self) -> &Arc<SharedTuner> {
        &self.tuner
    }

    /// The options.
    pub fn options(&self) -> &LiosOptions {
        &self.options
    }

    /// What all cores have counted.
    pub fn totals(&self) -> CoreTotals {
        self.cores.lock().iter().map(|core| core.totals()).sum()
    }
}
