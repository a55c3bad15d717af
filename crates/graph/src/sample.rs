//! Which nodes a navigation graph (MemGraph) is built over.

use gleann_quant::{KMeansParams, kmeans, nearest_two_rows};
use gleann_vector::{Distance, Matrix, Metric};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// Clusters that are sought in one k-means: more are sought in groups of the rows, so that the cost grows with the
/// rows and not with their square.
const GROUP: usize = 256;
/// Lloyd rounds: a representative needs no fine centroid.
const ROUNDS: usize = 8;

/// `count` of the ids below `nodes` (all of them, where there are no more), ascending: the ids are cut into `count`
/// equal stretches and one is drawn from each. Where ids of one stretch lie near each other, as in a packed index,
/// this covers the data more evenly than independent draws.
pub fn random_sample(nodes: u32, count: u32, seed: u64) -> Vec<u32> {
    let (nodes, count) = (u64::from(nodes), u64::from(count.min(nodes)));
    let mut random = Pcg64::seed_from_u64(seed);
    (0..count)
        .map(|index| {
            let [start, end] = [index, index + 1].map(|i| i * nodes / count);
            (start + random.next_u64() % (end - start)) as u32
        })
        .collect()
}

/// Rows that stand for `count` clusters of `rows`: the row nearest to each centroid of a k-means, none twice,
/// ascending. Fewer than `count` where there are fewer distinct rows. Takes up to two and a half times the memory
/// of `rows` besides them.
///
/// Runs on the caller's rayon pool; the result depends on the arguments alone.
pub fn clustered_sample(rows: &Matrix<f32>, count: usize, seed: u64) -> Vec<u32> {
    if count >= rows.rows() {
        return (0..rows.rows() as u32).collect();
    }
    let mut chosen = Vec::with_capacity(count);
    let groups = groups(rows, count.div_ceil(GROUP), seed);
    for (group, share) in groups.iter().zip(shares(&groups, count)) {
        let mut members = Matrix::zeroed(group.len(), rows.dim());
        for (place, &row) in group.iter().enumerate() {
            members.row_mut(place).copy_from_slice(rows.row(row as usize));
        }
        let found = representatives(&members, share, seed);
        chosen.extend(found.into_iter().map(|place| group[place]));
    }
    chosen.sort_unstable();
    chosen
}

/// The rows by their nearest of `count` centroids; no group is empty.
fn groups(rows: &Matrix<f32>, count: usize, seed: u64) -> Vec<Vec<u32>> {
    if count <= 1 {
        return vec![(0..rows.rows() as u32).collect()];
    }
    let centroids =
        kmeans(rows.as_slice(), rows.dim(), KMeansParams { clusters: count, rounds: ROUNDS, seed });
    let mut nearest = vec![[0; 2]; rows.rows()];
    nearest_two_rows(&centroids, rows.as_slice(), &mut nearest);
    let mut groups = vec![Vec::new(); centroids.rows()];
    for (row, [first, _]) in (0..).zip(nearest) {
        groups[first as usize].push(row);
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// `count` dealt to the groups in proportion to their sizes, by largest remainder; `count` is below the sum of the
/// sizes, so that no share exceeds its group.
fn shares(groups: &[Vec<u32>], count: usize) -> Vec<usize> {
    let total: u64 = groups.iter().map(|group| group.len() as u64).sum();
    let exact = |group: &Vec<u32>| group.len() as u64 * count as u64;
    let mut shares: Vec<usize> = groups.iter().map(|group| (exact(group) / total) as usize).collect();
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|&group| (std::cmp::Reverse(exact(&groups[group]) % total), group));
    let missing = count - shares.iter().sum::<usize>();
    order.into_iter().take(missing).for_each(|group| shares[group] += 1);
    shares
}

/// Rows of `members` nearest to the centroids of `count` clusters, none twice.
fn representatives(members: &Matrix<f32>, count: usize, seed: u64) -> Vec<usize> {
    if count == 0 {
        return Vec::new();
    }
    let params = KMeansParams { clusters: count, rounds: ROUNDS, seed };
    let centroids = kmeans(members.as_slice(), members.dim(), params);
    let distance = Distance::<f32>::new(Metric::L2, members.dim());
    let mut taken = vec![false; members.rows()];
    let mut found = Vec::with_capacity(centroids.rows());
    for centroid in 0..centroids.rows() {
        let to = |row: usize| distance.between(centroids.row(centroid), members.row(row));
        let free = (0..members.rows()).filter(|&row| !taken[row]).map(|row| (to(row), row));
        let nearest = free.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        if let Some((_, row)) = nearest {
            taken[row] = true;
            found.push(row);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_samples_are_ascending_seeded_and_spread() {
        for (nodes, count) in [(0, 3), (1, 1), (1, 9), (10, 10), (1000, 7), (u32::MAX - 1, 50)] {
            let sample = random_sample(nodes, count, 5);
            assert_eq!(sample.len() as u32, count.min(nodes));
            assert!(sample.is_sorted_by(|a, b| a < b) && sample.iter().all(|&id| id < nodes));
            assert_eq!(sample, random_sample(nodes, count, 5));
        }
        assert_ne!(random_sample(1000, 7, 5), random_sample(1000, 7, 6));
        let third = |id: &u32| id / 334;
        assert!(
            (0..3).all(|part| random_sample(1000, 30, 1).iter().filter(|id| third(id) == part).count() >= 9)
        );
    }

    /// `per` rows around each of `clusters` points.
    fn blobs(clusters: usize, per: usize) -> Matrix<f32> {
        let mut rows = Matrix::zeroed(clusters * per, 3);
        for row in 0..clusters * per {
            let (cluster, noise) = (row % clusters, (row * 7919 % 101) as f32 / 1000.0);
            let centre = [cluster % 10, cluster / 10 % 10, cluster / 100].map(|x| x as f32 * 10.0);
            rows.row_mut(row).copy_from_slice(&centre.map(|x| x + noise));
        }
        rows
    }

    #[test]
    fn clusters_are_stood_for() {
        // One k-means, and groups of it.
        for (clusters, floor) in [(20, 19), (700, 500)] {
            let rows = blobs(clusters, 12);
            let sample = clustered_sample(&rows, clusters, 3);
            assert_eq!(sample.len(), clusters);
            assert!(
                sample.is_sorted_by(|a, b| a < b) && sample.iter().all(|&row| (row as usize) < rows.rows())
            );
            let mut found: Vec<u32> = sample.iter().map(|row| row % clusters as u32).collect();
            found.sort_unstable();
            found.dedup();
            assert!(found.len() >= floor, "{} of {clusters} clusters", found.len());
            assert_eq!(sample, clustered_sample(&rows, clusters, 3));
        }
    }

    #[test]
    fn few_or_equal_rows_are_taken_once() {
        let rows = blobs(5, 1);
        assert_eq!(clustered_sample(&rows, 9, 0), [0, 1, 2, 3, 4]);
        assert_eq!(clustered_sample(&Matrix::zeroed(0, 3), 4, 0), [0; 0]);
        assert_eq!(clustered_sample(&Matrix::zeroed(40, 3), 4, 0).len(), 1);
        // Every group gets its share although all rows are equal in pairs.
        let rows = blobs(600, 2);
        let sample = clustered_sample(&rows, 600, 1);
        assert!(sample.len() > 500 && sample.is_sorted_by(|a, b| a < b), "{}", sample.len());
    }
}
