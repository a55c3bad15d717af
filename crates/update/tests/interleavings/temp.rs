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

/// Whoever reads a list that grows meets what was in it, and of what comes the first few.
#[test]
fn a_reader_of_a_list_that_grows_meets_its_beginning() {
    crate::explore::explore(100, || {
        let lists = std::sync::Arc::new(lists::Lists::new(10, 4));
        assert!(lists.lock(0).push(5));
        let reader = {
            let lists = lists.clone();
            shuttle::thread::spawn(move || {
                let met: Vec<u32> = lists.ids(0).collect();
                assert!(!met.is_empty() && [5, 6, 7].starts_with(&met), "{met:?}");
            })
        };
        [6, 7].into_iter().for_each(|id| assert!(lists.lock(0).push(id)));
        reader.join().unwrap();
    });
}

/// Whoever sees that a slot is live finds its vector and its key, and two claims never meet.
#[test]
fn a_slot_that_is_seen_is_whole() {
    crate::explore::explore(100, || {
        let rows = std::sync::Arc::new(rows::Rows::<u8>::new(4, 2, true));
        let writers = (0..2u8).map(|thread| {
            let rows = rows.clone();
            shuttle::thread::spawn(move || {
                let mut claim = rows.claim(2).unwrap();
                let own = [thread + 1; 2];
                let slots =
                    [0, 1].map(|_| rows.write(&mut claim, &own, own[0].into(), own[0].into()).unwrap());
                assert!(rows.delete(slots[1]) && slots.iter().all(|&slot| rows.vector(slot) == own));
            })
        });
        let writers: Vec<_> = writers.collect();
        for slot in (0..4).filter(|&slot| rows.is_live(slot)) {
            let own = rows.vector(slot)[0];
            assert_eq!((rows.key(slot), rows.extra(slot)), (own.into(), own.into()));
            assert!(own == 1 || own == 2);
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert_eq!((rows.live(), rows.claimed()), (2, 4));
    });
}
