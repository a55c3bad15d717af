//! Snapshots onto another simulated volume: whatever happens there, the source is what it was, and what lies there is a whole
//! index of the moment it was asked for, or none.

use crate::crash::check_image;
use crate::model::{History, Model};
use crate::steps::{Session, Step, steps};
use crate::watched::Watched;
use crate::world::open;
use gleann_storage::{SimVolume, Volume};
use gleann_update::{Backend, Durability, PagesError, UpdateError};
use std::io::ErrorKind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const KEYS: u64 = 90;
/// Backend, and whether some vectors are buffered although others are inserted directly.
const MANNERS: [(Backend, bool); 3] =
    [(Backend::Odin, false), (Backend::Fresh, false), (Backend::Odin, true)];

/// An index with a graph, changes since the last checkpoint, and where it buffers, vectors that are in no graph.
fn source((backend, mixed): (Backend, bool)) -> (Session, SimVolume) {
    let below = SimVolume::new();
    let mut session = Session::begin(&below, backend, 40);
    session.mixed = mixed;
    for step in steps(51, 60, KEYS).into_iter().enumerate() {
        session.take(step).unwrap();
    }
    for number in 0..15 {
        session.take((200 + number, Step::Upsert(number as u64 * 5))).unwrap();
    }
    (session, below)
}

/// Opens what lies in a volume: the copy of `model`, or no index. Whether it is one.
fn is_copy(image: SimVolume, model: &Model, context: &str) -> bool {
    let shared: Arc<dyn Volume> = Arc::new(image.clone());
    match open(&shared, Durability::Each) {
        Ok(live) => drop(live),
        Err(UpdateError::Unfinished { .. }) => return false,
        Err(UpdateError::Pages(error)) if matches!(*error, PagesError::Missing { .. }) => return false,
        Err(error) => panic!("{context}: {error}"),
    }
    check_image(image, &History { settled: model.clone(), pending: Vec::new() }, (6, context));
    true
}

fn snapshot(session: &Session, to: &(impl Volume + Clone + 'static)) -> Result<(), UpdateError> {
    let to: Arc<dyn Volume> = Arc::new(to.clone());
    session.live.snapshot(&to)
}

/// Power goes before every operation on the copy, and the source is updated meanwhile, of which the copy has nothing.
#[test]
fn a_copy_that_a_power_loss_cuts_off_is_whole_or_none() {
    for manner in MANNERS {
        let (session, below) = source(manner);
        let (model, target) = (session.model(), Watched::new());
        let (copies, nothings) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (whole, none, expected) = (copies.clone(), nothings.clone(), model.clone());
        let meanwhile = Mutex::new(session.clone());
        let mut operation = 0;
        target.watch(move |volume, name| {
            operation += 1;
            let key = operation as u64 * 7 % KEYS;
            meanwhile.lock().unwrap().take((300 + operation, Step::Upsert(key))).unwrap();
            for seed in [0, u64::MAX, operation as u64, 1000 + operation as u64] {
                let context = format!("{manner:?}: power loss {seed} before operation {operation} ({name})");
                let count =
                    if is_copy(volume.crash_image(seed), &expected, &context) { &whole } else { &none };
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        snapshot(&session, &target).unwrap();
        target.look_away();
        let context = format!("{manner:?}: a snapshot that has returned");
        assert!(is_copy(target.inner.crash_image(0), &model, &context), "{context} is not durable");
        // The rename of the last table is seen by some crashes and not by others.
        let counts = (copies.load(Ordering::Relaxed), nothings.load(Ordering::Relaxed));
        assert!(counts.0 > 0 && counts.1 > 40, "{manner:?}: {counts:?} whole and none");
        assert_ne!(session.model(), model);
        session.check(&format!("{manner:?}: the source"));
        check_image(below.crash_image(0), &session.history().clone(), (20, "the source, after a power loss"));
    }
}

/// The disk of the copy fails at every operation: the error is told, the source goes on, and another place takes a copy.
#[test]
fn a_copy_that_fails_anywhere_harms_nothing() {
    for manner in MANNERS {
        let (mut session, below) = source(manner);
        let (model, before) = (session.model(), below.operations());
        let whole = SimVolume::new();
        snapshot(&session, &whole).unwrap();
        let failures: [fn(&SimVolume, u64); 3] = [
            |volume, at| volume.fail_at(at, ErrorKind::Other),
            |volume, at| volume.fail_from(at, ErrorKind::Other),
            |volume, at| volume.fail_from(at, ErrorKind::StorageFull),
        ];
        for (kind, fail) in failures.into_iter().enumerate() {
            for at in 0..whole.operations() {
                let context = format!("{manner:?}: failure {kind} at operation {at} of the copy");
                let target = SimVolume::new();
                fail(&target, at);
                let error = snapshot(&session, &target).expect_err(&context);
                assert!(error.io_kind().is_some(), "{context}: {error}");
                target.heal();
                is_copy(target.crash_image(0), &model, &format!("{context}, then a power loss"));
                is_copy(target, &model, &context);
            }
        }
        assert_eq!(below.operations(), before, "{manner:?}: the source writes nothing");
        session.check(&format!("{manner:?}: the source"));
        let again = SimVolume::new();
        snapshot(&session, &again).unwrap();
        assert!(is_copy(again, &model, "after all failures"));
        session.take((400, Step::Upsert(3))).unwrap();
        session.take((401, Step::Repair)).unwrap();
        session.check(&format!("{manner:?}: the source, later"));
    }
}

/// A disk that is too small says so, however little is missing, and there is no index on it.
#[test]
fn a_copy_on_a_small_disk_is_refused_or_whole() {
    for manner in MANNERS {
        let (session, _) = source(manner);
        let model = session.model();
        let mut refused = 0;
        for room in (0..96 << 10).step_by(1 << 10) {
            let context = format!("{manner:?}: room for {room} bytes");
            let target = SimVolume::new();
            target.set_capacity(room);
            let copied = snapshot(&session, &target);
            target.set_capacity(u64::MAX);
            assert_eq!(is_copy(target, &model, &context), copied.is_ok(), "{context}");
            if let Err(error) = copied {
                assert_eq!(error.io_kind(), Some(ErrorKind::StorageFull), "{context}: {error}");
                refused += 1;
            }
        }
        assert!((10..90).contains(&refused), "{manner:?}: refused {refused} times");
        session.check(&format!("{manner:?}: the source"));
    }
}

/// Where something is, nothing is written.
#[test]
fn a_copy_takes_no_place_of_another() {
    let (session, _) = source(MANNERS[0]);
    let (other, below) = source(MANNERS[1]);
    let operations = below.operations();
    assert!(
        matches!(snapshot(&session, &below), Err(UpdateError::Pages(error)) if matches!(*error, PagesError::Exists { .. }))
    );
    assert_eq!(below.operations(), operations);
    other.check("the index that was there");
}
