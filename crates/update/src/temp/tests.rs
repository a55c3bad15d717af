//! Lists and rows, without other threads.

use super::lists::{Lists, NOWHERE};
use super::rows::Rows;

#[test]
fn lists_grow_to_their_places_and_are_replaced() {
    let lists = Lists::new(4, 2);
    let list = lists.lock(1);
    assert!(list.push(3) && list.push(0) && !list.push(2));
    assert_eq!(list.ids().collect::<Vec<_>>(), [3, 0]);
    list.anchor(3);
    assert!(list.anchors(3) && !list.anchors(0) && lists.anchor(0) == NOWHERE);
    list.replace(&[2]);
    assert_eq!(lists.ids(1).collect::<Vec<_>>(), [2]);
    assert_eq!(lists.ids(0).count() + lists.ids(2).count(), 0);
    lists.lock(2).push(1);
    assert!(list.push(0));
    assert_eq!(lists.ids(1).collect::<Vec<_>>(), [2, 0]);
}

#[test]
fn slots_are_written_once_and_deleted_once() {
    let rows = Rows::<u8>::new(3, 2, true);
    let mut claim = rows.claim(2).expect("room for two");
    assert_eq!((rows.claimed(), rows.live(), rows.is_live(0)), (2, 0, false));
    assert_eq!(rows.write(&mut claim, &[1, 2], 70, 0.5), Some(0));
    assert_eq!(rows.write(&mut claim, &[3, 4], 71, 0.0), Some(1));
    assert_eq!(rows.write(&mut claim, &[5, 6], 72, 0.0), None);
    assert!(rows.claim(2).is_none(), "one is left, and stays");
    assert_eq!((rows.claimed(), rows.vector(1), rows.key(1), rows.extra(0)), (2, &[3, 4][..], 71, 0.5));
    assert!(!rows.delete(2) && !rows.delete(9) && rows.delete(1) && !rows.delete(1));
    assert_eq!((rows.live(), rows.vector(1), rows.is_live(1)), (1, &[3, 4][..], false));
}

#[test]
#[should_panic(expected = "slot 0 has not been written")]
fn an_unwritten_slot_is_not_read() {
    let rows = Rows::<f32>::new(3, 2, false);
    let _claim = rows.claim(1);
    rows.vector(0);
}
