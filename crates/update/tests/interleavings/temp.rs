//! The temporary index without its own tests, which have no scheduler.

#[path = "../../src/temp/index.rs"]
mod index;
#[path = "../../src/temp/insert.rs"]
mod insert;
#[path = "../../src/temp/lists.rs"]
mod lists;
#[path = "../../src/temp/rows.rs"]
mod rows;
#[path = "../../src/temp/scratch.rs"]
mod scratch;
#[path = "../../src/temp/walk.rs"]
mod walk;

pub use index::{TempIndex, TempParams};
pub use scratch::TempScratch;

/// Whoever reads a list while it is replaced meets what was there and stays, and nothing that was never there.
#[test]
fn a_reader_of_a_list_that_is_replaced_meets_what_stays() {
    crate::explore::explore(300, || {
        let lists = std::sync::Arc::new(lists::Lists::new(10, 4));
        [1, 2, 3, 4].into_iter().for_each(|id| assert!(lists.lock(0).push(id)));
        let new: Vec<u32> = match shuttle::rand::Rng::gen_range(&mut shuttle::rand::thread_rng(), 0..4) {
            0 => vec![4, 2],
            1 => vec![5, 4, 6, 1],
            2 => vec![3],
            _ => vec![7, 8, 4],
        };
        let reader = {
            let (lists, new) = (lists.clone(), new.clone());
            shuttle::thread::spawn(move || {
                let met: Vec<u32> = lists.ids(0).collect();
                let stays = new.iter().filter(|&&id| id <= 4);
                assert!(stays.clone().all(|id| met.contains(id)), "{met:?} while {new:?} comes");
                assert!(met.iter().all(|id| *id <= 4 || new.contains(id)), "{met:?} while {new:?} comes");
            })
        };
        lists.lock(0).replace(&new);
        reader.join().unwrap();
        let mut ids: Vec<u32> = lists.ids(0).collect();
        ids.sort_unstable();
        assert!(ids.len() == new.len() && new.iter().all(|id| ids.contains(id)), "{ids:?}");
    });
}
