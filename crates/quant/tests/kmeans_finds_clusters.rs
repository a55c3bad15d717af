//! k-means over whole rows, as the sharded build uses it.

mod data;

use data::clustered;
use gleann_quant::{KMeansParams, kmeans, nearest, nearest_two, nearest_two_rows};
use gleann_vector::Matrix;
use proptest::prelude::*;

fn squared(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(x, y)| f64::from(x - y).powi(2)).sum()
}

fn loss(rows: &Matrix<f32>, centroids: &Matrix<f32>) -> f64 {
    (0..rows.rows())
        .map(|i| squared(rows.row(i), centroids.row(nearest(centroids, rows.row(i)) as usize)))
        .sum()
}

#[test]
fn separated_clusters_are_found_exactly() {
    for dim in [1, 2, 33, 700] {
        let mut rows = Matrix::zeroed(60, dim);
        for row in 0..60 {
            rows.row_mut(row).fill(1000.0 * (row % 4) as f32 + (row / 4) as f32);
        }
        let centroids = kmeans(rows.as_slice(), dim, KMeansParams { clusters: 4, rounds: 10, seed: 5 });
        let mut found: Vec<f32> = (0..4).map(|c| centroids.row(c)[0]).collect();
        found.sort_by(f32::total_cmp);
        assert_eq!(found, [7.0, 1007.0, 2007.0, 3007.0], "dim {dim}");
        assert!(centroids.as_slice().chunks(dim).all(|row| row.iter().all(|x| *x == row[0])));
    }
}

#[test]
fn every_centroid_is_the_mean_of_its_rows_once_nothing_moves() {
    let rows = clustered(600, 9, 31);
    let centroids = kmeans(rows.as_slice(), 9, KMeansParams { clusters: 12, rounds: 200, seed: 1 });
    let mut sums = vec![(vec![0.0f64; 9], 0u32); 12];
    for row in 0..600 {
        let (sum, count) = &mut sums[nearest(&centroids, rows.row(row)) as usize];
        sum.iter_mut().zip(rows.row(row)).for_each(|(s, &x)| *s += f64::from(x));
        *count += 1;
    }
    for (id, (sum, count)) in sums.iter().enumerate() {
        assert!(*count > 0, "cluster {id} is empty");
        let mean: Vec<f32> = sum.iter().map(|s| (s / f64::from(*count)) as f32).collect();
        assert!(squared(&mean, centroids.row(id)) < 1e-6, "cluster {id}");
    }
}

#[test]
fn more_rounds_and_more_clusters_never_hurt_much() {
    let rows = clustered(2000, 6, 77);
    let run = |clusters, rounds| {
        loss(&rows, &kmeans(rows.as_slice(), 6, KMeansParams { clusters, rounds, seed: 2 }))
    };
    let by_rounds = [0, 1, 2, 5, 20].map(|rounds| run(30, rounds));
    assert!(by_rounds.is_sorted_by(|a, b| a >= b), "{by_rounds:?}");
    let by_clusters = [1, 2, 8, 64, 512].map(|clusters| run(clusters, 5));
    assert!(by_clusters.is_sorted_by(|a, b| a > b), "{by_clusters:?}");
}

#[test]
fn edge_sizes() {
    let params = |clusters| KMeansParams { clusters, rounds: 5, seed: 0 };
    assert_eq!(kmeans(&[], 3, params(4)).rows(), 0);
    let one = kmeans(&[1.5, -2.0], 2, params(4));
    assert_eq!((one.rows(), one.row(0)), (1, &[1.5f32, -2.0][..]));
    assert_eq!(nearest_two(&one, &[9.0f32, 9.0]), [0, 0]);
    let extreme = kmeans(&[f32::MAX, -f32::MAX, 0.0, 1e-40], 1, params(3));
    assert!(extreme.as_slice().iter().all(|x| x.is_finite()));
}

proptest! {
    #[test]
    fn the_two_nearest_are_the_two_nearest(
        values in prop::collection::vec(-50i8..50, 5..400), dim in 1usize..9, clusters in 1usize..20,
    ) {
        let rows: Vec<i8> = values[..values.len() / dim * dim].to_vec();
        prop_assume!(!rows.is_empty());
        let floats: Vec<f32> = rows.iter().map(|&x| f32::from(x)).collect();
        let centroids = kmeans(&floats, dim, KMeansParams { clusters, rounds: 2, seed: 1 });
        let mut found = vec![[0; 2]; rows.len() / dim];
        nearest_two_rows(&centroids, &rows, &mut found);
        for (row, &[first, second]) in floats.chunks(dim).zip(&found) {
            prop_assert_eq!(nearest_two(&centroids, row), [first, second]);
            let mut exact: Vec<f64> = (0..centroids.rows()).map(|c| squared(row, centroids.row(c))).collect();
            let near = [exact[first as usize], exact[second as usize]];
            exact.sort_by(f64::total_cmp);
            prop_assert_eq!(first == second, centroids.rows() == 1);
            prop_assert!((near[0] - exact[0]).abs() < 0.02 && (near[1] - exact[1.min(exact.len() - 1)]).abs() < 0.02);
        }
    }
}
