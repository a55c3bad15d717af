//! Small, equal, zero, odd-sized and absurd samples: a codebook, or an error that says why not.

mod data;

use data::{clustered, encode, prepared, quantisation_error, train};
use gleann_quant::{Codebook, Codes, DistanceTable, PqParams, QuantError, TRAINING_ROWS, training_sample};
use gleann_vector::{Matrix, Metric, NotFinite, Progress, Silent};

#[test]
fn fewer_rows_than_centroids() {
    for rows in [0, 1, 2, 111, 255, 256, 257] {
        let sample = clustered(rows, 8, 6);
        for metric in Metric::ALL {
            let codebook = train(&sample, metric, 2);
            for chunk in 0..2 {
                assert!(codebook.centroids(chunk) <= rows.clamp(1, 256), "{rows} rows");
            }
            // Codes::new refuses codes of centroids that do not exist.
            let codes = encode(&codebook, &sample);
            assert_eq!(codes.len(), rows);
            encode(&codebook, &clustered(50, 8, 7));
            if (1..256).contains(&rows) {
                let error = quantisation_error(&codebook, &sample);
                assert!(error < 1e-6, "{rows} rows have a centroid each, yet the error is {error}");
            }
        }
    }
}

#[test]
fn as_many_centroids_as_distinct_rows() {
    for (rows, distinct) in [(256, 57), (1000, 1), (1062, 2), (500, 5), (3000, 255), (3000, 256)] {
        let mut sample = Matrix::zeroed(rows, 4);
        for row in 0..rows {
            let value = (row % distinct) as f32;
            sample.row_mut(row).copy_from_slice(&[value, value + 1.0, value * 0.5, 7.0]);
        }
        let codebook = train(&sample, Metric::L2, 1);
        assert_eq!(codebook.centroids(0), distinct, "{rows} rows");
        assert!(quantisation_error(&codebook, &sample) < 1e-9);
        let mut used: Vec<u8> = encode(&codebook, &sample).as_bytes().to_vec();
        used.sort_unstable();
        used.dedup();
        assert_eq!(used.len(), distinct);
    }
}

#[test]
fn near_duplicates_far_from_the_origin_keep_their_centroids() {
    // 1062 equal rows beside 200 others, all offset by a thousand: the offset must not eat the digits.
    let mut sample = Matrix::zeroed(1262, 4);
    for row in 0..1262 {
        let value = 1000.0 + 0.01 * (row as f32 - 1061.0).max(0.0);
        sample.row_mut(row).fill(value);
    }
    for metric in [Metric::L2, Metric::InnerProduct] {
        let codebook = train(&sample, metric, 1);
        assert_eq!(codebook.centroids(0), 201);
        assert!(quantisation_error(&codebook, &sample) < 1e-6);
    }
}

#[test]
fn zero_rows_stay_zero_under_cosine() {
    let mut sample = clustered(120, 5, 3);
    sample.row_mut(17).fill(0.0);
    sample.row_mut(50).fill(0.0);
    let codebook = train(&sample, Metric::Cosine, 5);
    let codes = encode(&codebook, &sample);
    let mut decoded = [f32::NAN; 5];
    codebook.decode(codes.code(17), &mut decoded);
    assert!(decoded.iter().all(|x| x.abs() < 1e-6), "{decoded:?}");
    let mut table = DistanceTable::new();
    for query in [sample.row(3), &[0.0; 5]] {
        table.fill(&codebook, query);
        for row in 0..120 {
            let (a, b) = (prepared(Metric::Cosine, query), prepared(Metric::Cosine, sample.row(row)));
            let exact = 2.0 - 2.0 * a.iter().zip(&b).map(|(x, y)| x * y).sum::<f64>();
            let estimate = f64::from(table.estimate_one(&codes, row as u32));
            // Values nearer to each other than √(f32 rounding) may take each other's centroid.
            assert!((estimate - exact).abs() < 1e-3, "row {row}: {estimate} for {exact}");
        }
        // No direction: 2 from everything.
        assert!((table.estimate_one(&codes, 17) - 2.0).abs() < 1e-5);
    }
    let nothing = train(&Matrix::zeroed(1, 3), Metric::Cosine, 3);
    assert_eq!(encode(&nothing, &Matrix::<f32>::zeroed(4, 3)).as_bytes(), &[0; 12]);
}

#[test]
fn chunks_differ_by_one_dimension_at_most() {
    for (dim, chunks) in [(101, 100), (101, 1), (101, 101), (8, 3), (128, 32), (1, 1), (7, 5)] {
        let codebook = train(&clustered(20, dim, 2), Metric::L2, chunks);
        let widths: Vec<usize> = (0..chunks).map(|chunk| codebook.chunk(chunk).len()).collect();
        assert_eq!(widths.iter().sum::<usize>(), dim);
        assert!(widths.is_sorted_by(|a, b| a >= b) && widths[0] - widths[chunks - 1] <= 1, "{widths:?}");
        assert_eq!(codebook.chunk(chunks - 1).end, dim);
    }
}

#[test]
fn impossible_splits_are_refused_before_data_is_read() {
    let check = |dim, chunks| PqParams::new(Metric::L2, chunks).check(dim);
    assert_eq!(check(8, 0), Err(QuantError::Chunks { chunks: 0, dim: 8 }));
    assert_eq!(check(8, 16), Err(QuantError::Chunks { chunks: 16, dim: 8 }));
    assert_eq!(check(0, 1), Err(QuantError::Dim { dim: 0 }));
    assert_eq!(check(8193, 1), Err(QuantError::Dim { dim: 8193 }));
    assert_eq!((check(8, 8), check(8, 1), check(8192, 8192)), (Ok(()), Ok(()), Ok(())));
    let refused = Codebook::train(&clustered(5, 8, 0), PqParams::new(Metric::L2, 9), &Silent);
    assert_eq!(refused.unwrap_err(), QuantError::Chunks { chunks: 9, dim: 8 });
    assert!(check(8, 16).unwrap_err().to_string().contains("expected 1 to 8"));
}

#[test]
fn samples_that_would_overflow_are_refused() {
    let mut sample = clustered(9, 4, 0);
    sample.row_mut(5)[2] = -2e16;
    let train =
        |sample: &Matrix<f32>| Codebook::train(sample, PqParams::new(Metric::L2, 2), &Silent).map(|_| ());
    assert_eq!(train(&sample), Err(QuantError::TooLarge { row: 5, component: 2, value: -2e16 }));
    sample.row_mut(4)[1] = f32::INFINITY;
    let error = NotFinite { row: 4, component: 1, value: f32::INFINITY };
    assert_eq!(train(&sample), Err(QuantError::NotFinite(error)));
}

#[test]
fn the_error_falls_with_the_number_of_chunks_and_of_rounds() {
    let sample = clustered(3000, 24, 12);
    let error = |chunks, rounds| {
        let params = PqParams { rounds, ..PqParams::new(Metric::L2, chunks) };
        quantisation_error(&Codebook::train(&sample, params, &Silent).unwrap(), &sample)
    };
    let errors = [1, 2, 4, 8, 24].map(|chunks| error(chunks, 5));
    assert!(errors.windows(2).all(|pair| pair[1] < 0.9 * pair[0]), "{errors:?}");
    let errors = [0, 1, 3, 9].map(|rounds| error(4, rounds));
    assert!(errors.windows(2).all(|pair| pair[1] < pair[0]), "{errors:?}");
}

#[test]
fn codes_that_the_codebook_cannot_have_given_are_refused() {
    let codebook = train(&clustered(10, 4, 1), Metric::L2, 2);
    let error = Codes::new(Matrix::from_rows(&[9u8, 9, 3, 10], 2), &codebook).unwrap_err();
    assert!(error.to_string().contains("centroid 10 of chunk 1"), "{error}");
    let error = Codes::new(Matrix::from_rows(&[1u8, 1, 1], 3), &codebook).unwrap_err();
    assert!(error.to_string().contains("3 bytes a code"), "{error}");
    let codes = Codes::new(Matrix::from_rows(&[9u8, 0], 2), &codebook).unwrap();
    assert_eq!(
        (codes.len(), codes.code_bytes(), codes.memory_bytes(), codes.code(0)),
        (1, 2, 2, &[9u8, 0][..])
    );
    codes.prefetch(0);
    codes.prefetch(u32::MAX);
}

#[test]
fn a_sample_is_spread_over_the_source() {
    let mut source = Matrix::<u8>::zeroed(2000, 2);
    for row in 0..2000 {
        source.row_mut(row).copy_from_slice(&[(row / 100) as u8, (row % 100) as u8]);
    }
    let sample = training_sample(&source, 100, 5).unwrap();
    let rows: Vec<usize> = (0..100).map(|i| (sample.row(i)[0] * 100.0 + sample.row(i)[1]) as usize).collect();
    assert!(rows.iter().enumerate().all(|(i, row)| row / 20 == i), "one of every twenty: {rows:?}");
    assert_ne!(
        rows,
        training_sample(&source, 100, 6)
            .unwrap()
            .as_slice()
            .chunks(2)
            .map(|r| (r[0] * 100.0 + r[1]) as usize)
            .collect::<Vec<_>>()
    );
    let all = training_sample(&source, TRAINING_ROWS, 0).unwrap();
    assert!(
        all.as_slice().iter().zip(source.as_slice()).all(|(&a, &b)| a == f32::from(b)) && all.rows() == 2000
    );
    assert_eq!(training_sample(&Matrix::<f32>::zeroed(0, 3), 10, 0).unwrap().rows(), 0);
}

#[test]
fn training_stops_when_told_to() {
    struct Stop;
    impl Progress for Stop {
        fn phase(&self, name: &str, total: u64) {
            assert_eq!((name, total), ("train codebook", 2));
        }
        fn advance(&self, _done: u64) {}
        fn cancelled(&self) -> bool {
            true
        }
    }
    let stopped = Codebook::train(&clustered(5, 8, 0), PqParams::new(Metric::L2, 2), &Stop);
    assert!(matches!(stopped, Err(QuantError::Cancelled(_))));
}
