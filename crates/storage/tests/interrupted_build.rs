//! A build that was interrupted is continued: what it had finished is taken over, nothing else is.
#![allow(clippy::unwrap_used)]

mod tiny;

use gleann_storage::{BuildId, MemberKind, finished_member};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use tiny::{Tiny, check};

#[test]
fn finished_members_are_taken_over() {
    let dir = tempfile::tempdir().unwrap();
    let manifest = Tiny::default().build::<u8>(dir.path()).unwrap();
    let finished = |kind| finished_member(dir.path(), kind, manifest.build_id).unwrap();
    fs::remove_file(dir.path().join("MANIFEST")).unwrap();

    let mut again = manifest.clone();
    again.members = MemberKind::ALL.into_iter().filter_map(finished).collect();
    assert_eq!(again, manifest);
    again.publish(dir.path()).unwrap();
    assert_eq!(check(dir.path()), [""; 0]);

    // A tiny index has not every kind.
    for kind in manifest.members.iter().map(|entry| entry.kind) {
        // Not another build's, not a damaged one, not one that is still being written.
        assert_eq!(finished_member(dir.path(), kind, BuildId([0; 16])).unwrap(), None);
        let path = dir.path().join(kind.file_name());
        let bytes = fs::read(&path).unwrap();
        for offset in [0, 16, 32, 40, 44, 60, bytes.len() - 5] {
            let file = OpenOptions::new().write(true).open(&path).unwrap();
            file.write_all_at(&[bytes[offset] ^ 1], offset as u64).unwrap();
            assert_eq!(finished(kind), None, "{kind:?}, byte {offset}");
            file.write_all_at(&bytes[offset..offset + 1], offset as u64).unwrap();
        }
        for length in [0, 63, 64, bytes.len() - 1, bytes.len() + 1] {
            let mut cut = bytes.clone();
            cut.resize(length, 0);
            fs::write(&path, cut).unwrap();
            assert_eq!(finished(kind), None, "{kind:?} of {length} bytes");
        }
        fs::rename(&path, dir.path().join(format!("{}.tmp", kind.file_name()))).unwrap();
        assert_eq!(finished(kind), None);
    }
}
