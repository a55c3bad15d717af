//! Claims become postings: in rounds, from the nearest claim of every vector to its last, each posting takes the nearest
//! of those who ask while it has room.

use crate::closure::{Claim, NONE};
use rayon::prelude::*;

/// Postings with their members.
#[derive(Debug, PartialEq)]
pub(crate) struct Placement {
    /// The members of each posting, in the order in which they were taken.
    pub members: Vec<Vec<u32>>,
    /// Vectors that no posting had room for, ascending.
    pub homeless: Vec<u32>,
}

/// Someone who asks a posting for a place.
struct Asker {
    posting: u32,
    /// Whether it has a place elsewhere: those who have none come first.
    placed: bool,
    distance: f32,
    id: u32,
}

/// Places `claims`, `replicas` of each vector, into `postings` postings of at most `capacity` members.
pub(crate) fn place(claims: &[Claim], replicas: usize, (postings, capacity): (usize, usize)) -> Placement {
    let vectors = claims.len() / replicas;
    let mut members = vec![Vec::new(); postings];
    let mut placed = vec![false; vectors];
    let mut askers: Vec<Asker> = Vec::with_capacity(vectors);
    for round in 0..replicas {
        askers.clear();
        for (id, claims) in claims.chunks_exact(replicas).enumerate() {
            let Claim { posting, distance } = claims[round];
            if posting != NONE {
                askers.push(Asker { posting, placed: placed[id], distance, id: id as u32 });
            }
        }
        askers.par_sort_unstable_by(|a, b| {
            let order = a.posting.cmp(&b.posting).then(a.placed.cmp(&b.placed));
            order.then(a.distance.total_cmp(&b.distance)).then(a.id.cmp(&b.id))
        });
        for group in askers.chunk_by(|a, b| a.posting == b.posting) {
            let members = &mut members[group[0].posting as usize];
            for asker in group.iter().take(capacity - members.len()) {
                members.push(asker.id);
                placed[asker.id as usize] = true;
            }
        }
    }
    let homeless = (0..vectors as u32).filter(|&id| !placed[id as usize]).collect();
    Placement { members, homeless }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(posting: u32, distance: f32) -> Claim {
        Claim { posting, distance }
    }

    #[test]
    fn the_nearest_come_first_and_those_without_a_place_before_replicas() {
        let none = claim(NONE, f32::INFINITY);
        let claims = [
            claim(0, 1.0),
            claim(1, 2.0), // 0: both its wishes
            claim(0, 3.0),
            claim(1, 4.0), // 1: too far for posting 0, then before the replica of 0
            claim(1, 0.5),
            none, // 2
            claim(1, 0.6),
            claim(0, 9.0), // 3
            claim(0, 2.0),
            none, // 4
        ];
        let Placement { members, homeless } = place(&claims, 2, (2, 3));
        assert_eq!(members, [vec![0, 4, 1], vec![2, 3, 0]]);
        assert!(homeless.is_empty());
        let Placement { members, homeless } = place(&claims, 2, (2, 2));
        assert_eq!(members, [vec![0, 4], vec![2, 3]]);
        assert_eq!(homeless, [1]);
        let Placement { members, .. } = place(&claims, 2, (2, 4));
        assert_eq!(members, [vec![0, 4, 1, 3], vec![2, 3, 0, 1]]);
        let claims = [claim(1, 5.0), claim(0, 6.0), claim(1, 1.0), none, claim(1, 2.0), none];
        let Placement { members, homeless } = place(&claims, 2, (2, 2));
        assert_eq!(members, [vec![0], vec![1, 2]]);
        assert!(homeless.is_empty());
    }
}
