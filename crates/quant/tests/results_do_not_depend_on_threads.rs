//! Same input and seed, same bytes: in pools of one and of three threads.

mod data;

use data::{clustered, encode};
use gleann_quant::{Codebook, KMeansParams, PqParams, kmeans, nearest_two_rows};
use gleann_vector::{Matrix, Metric, Silent};

fn in_pool<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a small pool").install(work)
}

#[test]
fn codebooks_and_codes() {
    let sample = clustered(9000, 10, 21);
    for metric in Metric::ALL {
        let params = PqParams { rounds: 3, ..PqParams::new(metric, 3) };
        let run = || {
            let codebook = Codebook::train(&sample, params, &Silent).unwrap();
            let codes = encode(&codebook, &sample).as_bytes().to_vec();
            (codebook.to_bytes(), codes)
        };
        let once = in_pool(1, run);
        assert!(once == in_pool(3, run), "{metric}");
        let other = Codebook::train(&sample, PqParams { seed: 1, ..params }, &Silent).unwrap();
        assert_ne!(once.0, other.to_bytes(), "the seed has an effect");
    }
}

#[test]
fn clusters_of_whole_rows() {
    let rows = clustered(20_000, 32, 4);
    let run = || {
        let params = KMeansParams { clusters: 19, rounds: 5, seed: 3 };
        let centroids = kmeans(rows.as_slice(), 32, params);
        let mut near = vec![[0; 2]; rows.rows()];
        nearest_two_rows(&centroids, rows.as_slice(), &mut near);
        (bits(&centroids), near)
    };
    assert!(in_pool(1, run) == in_pool(3, run));
}

fn bits(matrix: &Matrix<f32>) -> Vec<u32> {
    matrix.as_slice().iter().map(|x| x.to_bits()).collect()
}
