//! A power loss at every operation leaves the state of the last commit that ended, or the whole of the one under way.

use crate::model::{Model, place, record, write};
use crate::scripts::{Change, apply, changes};
use gleann_storage::{Area, SimVolume};
use gleann_update::{Pages, PagesError};
use proptest::prelude::*;

const SEEDS: [u64; 6] = [0, 1, 2, 3, 4, u64::MAX];

/// A state that a disk may be found in: its root and blocks, or no index at all.
type State = Option<(Vec<u8>, Model)>;

/// Makes an index and runs commits over it until one fails. The states that may be found afterwards.
fn run(volume: &SimVolume, script: &[Vec<Change>]) -> Vec<State> {
    let begun = Some((b"begin".to_vec(), Model::default()));
    let Ok(pages) = Pages::create(place(volume), b"begin") else { return vec![None, begun] };
    let mut last = begun;
    for (stamp, changes) in (1..).zip(script) {
        let (state, outcome) = commit(&pages, &last, changes, stamp);
        if outcome.is_err() {
            return vec![last, state];
        }
        last = state;
    }
    vec![last]
}

/// Runs one commit over a state. The state that it makes, and whether it said so.
fn commit(pages: &Pages, before: &State, changes: &[Change], stamp: u64) -> (State, Result<(), PagesError>) {
    let root = stamp.to_string().into_bytes();
    let mut model = before.clone().unwrap().1;
    let mut commit = pages.begin().unwrap();
    let outcome =
        apply(changes, stamp, &mut commit, &mut model).and_then(|()| commit.finish(&root).map(drop));
    (Some((root, model)), outcome)
}

/// The state of the disk, with the store that reads it.
fn found(volume: &SimVolume) -> (Option<Pages>, State) {
    match Pages::open(place(volume)) {
        Ok((pages, root)) => {
            let model = Model::read(&pages, &pages.table());
            (Some(pages), Some((root, model)))
        }
        Err(PagesError::Missing { .. }) => (None, None),
        Err(error) => panic!("{error}"),
    }
}

/// Crashes once more, in the commit after the crash.
fn crash_again(image: &SimVolume, changes: &[Change], (operation, seed): (u64, u64)) {
    let (Some(pages), before) = found(image) else {
        Pages::create(place(image), b"again").unwrap();
        return;
    };
    image.crash_at(image.operations() + operation);
    let (after, outcome) = commit(&pages, &before, changes, 77);
    let (_, state) = found(&image.crash_image(seed));
    assert!(state == after || (outcome.is_err() && state == before));
}

#[test]
fn a_crash_around_the_cut_of_an_idle_end_loses_nothing() {
    // Large, then small for long enough, then large again: number of record blocks by commit.
    let sizes = [600].into_iter().chain([50; 10]).chain([400]);
    let run = |volume: &SimVolume| -> Vec<(Model, u64)> {
        let Ok(pages) = Pages::create(place(volume), b"") else { return vec![] };
        let mut ends = vec![(Model::default(), volume.operations())];
        for (number, blocks) in (1..).zip(sizes.clone()) {
            ends.push((Model::of_records(blocks, number), volume.operations()));
            let mut commit = pages.begin().unwrap();
            commit.truncate(Area::Records, blocks);
            let outcome = (0..blocks).try_for_each(|index| write(&mut commit, record(index), number));
            if outcome.and_then(|()| commit.finish(b"").map(drop)).is_err() {
                return ends;
            }
        }
        assert!(
            pages.file_blocks() <= 50 + 50 + 400 + 256,
            "{} blocks: nothing was cut",
            pages.file_blocks()
        );
        ends
    };
    let whole = SimVolume::new();
    let first = run(&whole)[11].1;
    for operation in first..whole.operations() {
        let volume = SimVolume::new();
        volume.crash_at(operation);
        let ends = run(&volume);
        for seed in SEEDS {
            let state = found(&volume.crash_image(seed)).1.unwrap().1;
            let old_or_new = ends[ends.len() - 2..].iter().any(|(model, _)| *model == state);
            assert!(old_or_new, "operation {operation}, seed {seed}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn a_crash_leaves_the_old_state_or_the_new_one(script in prop::collection::vec(changes(), 1..6)) {
        let whole = SimVolume::new();
        let states = run(&whole, &script);
        prop_assert_eq!(states.len(), 1);
        for operation in 0..whole.operations() {
            let volume = SimVolume::new();
            volume.crash_at(operation);
            let states = run(&volume, &script);
            prop_assert!(states.len() == 2 && volume.crashed());
            for seed in SEEDS {
                let image = volume.crash_image(seed);
                let (_, state) = found(&image);
                prop_assert!(states.contains(&state), "operation {operation}, seed {seed}");
                crash_again(&image, &script[0], ((operation * 7 + seed % 7) % 11, seed ^ operation));
            }
        }
        for seed in SEEDS {
            prop_assert_eq!(&found(&whole.crash_image(seed)).1, &states[0]);
        }
    }
}
