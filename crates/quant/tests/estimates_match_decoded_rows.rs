//! An estimate is the ordering distance to the decoded row: every metric, every element type, any split.

mod data;

use data::{cast, clustered, encode, measure, train};
use gleann_quant::{Codebook, Codes, DistanceTable};
use gleann_vector::{Element, Matrix, Metric};
use half::f16;

/// Estimates of all rows, checked against the oracle; batch and single agree to the bit.
fn check(codebook: &Codebook, codes: &Codes, table: &mut DistanceTable, query: &[f32]) {
    table.fill(codebook, query);
    // Out of order, repeated, and no multiple of what a batch takes at once.
    let ids: Vec<u32> =
        (0..codes.len() as u32).rev().chain([0, 0, 1]).filter(|&id| (id as usize) < codes.len()).collect();
    let mut estimates = vec![f32::NAN; ids.len()];
    table.estimate(codes, &ids, &mut estimates);
    let mut decoded = vec![0.0; codebook.dim()];
    for (&id, &estimate) in ids.iter().zip(&estimates) {
        codebook.decode(codes.code(id), &mut decoded);
        let exact = measure(codebook.metric(), query, &decoded);
        let norms: f64 = query.iter().chain(&decoded).map(|&x| f64::from(x).powi(2)).sum();
        let scale = if codebook.metric() == Metric::Cosine { 4.0 } else { norms };
        // Float rounding, and half a 16-bit step of the widest chunk for every chunk.
        let allowed = 2e-6 * scale + codebook.chunks() as f64 * 0.5 * 4.0 * scale / 65535.0;
        assert!((f64::from(estimate) - exact).abs() <= allowed, "{codebook:?} {id}: {estimate} {exact}");
        assert_eq!(table.estimate_one(codes, id).to_bits(), estimate.to_bits());
    }
}

fn every_metric<T: Element>(table: &mut DistanceTable) {
    for (rows, dim, chunks) in
        [(300, 8, 2), (70, 101, 100), (33, 7, 7), (300, 12, 1), (2, 3, 3), (1, 1, 1), (40, 130, 9)]
    {
        let sample = clustered(rows, dim, 3);
        let rows: Matrix<T> = cast(&sample);
        for metric in Metric::ALL {
            let codebook = train(&sample, metric, chunks);
            let codes = encode(&codebook, &rows);
            let query = clustered(1, dim, 4);
            check(&codebook, &codes, table, query.row(0));
            let negative: Vec<f32> = query.row(0).iter().map(|x| -3.5 * x).collect();
            check(&codebook, &codes, table, &negative);
            check(&codebook, &codes, table, &vec![0.0; dim]);
        }
    }
}

#[test]
fn for_every_metric_element_type_and_split() {
    // One table for all: filling it for a smaller codebook leaves nothing of the larger.
    let mut table = DistanceTable::new();
    every_metric::<f32>(&mut table);
    every_metric::<f16>(&mut table);
    every_metric::<u8>(&mut table);
    every_metric::<i8>(&mut table);
}

#[test]
fn codes_are_the_same_for_every_element_type_and_batch() {
    let sample = clustered(531, 20, 8);
    let codebook = train(&sample, Metric::L2, 6);
    let codes = encode(&codebook, &sample);
    assert_eq!(codes.as_bytes(), encode(&codebook, &cast::<f16>(&sample)).as_bytes());
    assert_eq!(codes.as_bytes(), encode(&codebook, &cast::<u8>(&sample)).as_bytes());
    assert_eq!(codes.as_bytes(), encode(&codebook, &cast::<i8>(&sample)).as_bytes());
    let mut one = [0; 6];
    for row in 0..sample.rows() {
        codebook.encode(sample.row(row), &mut one);
        assert_eq!(one, codes.code(row as u32));
    }
}

#[test]
fn codes_name_the_nearest_centroid_of_each_chunk() {
    let sample = clustered(700, 11, 1);
    let codebook = train(&sample, Metric::L2, 4);
    let codes = encode(&codebook, &sample);
    let mut decoded = vec![0.0; 11];
    for row in (0..sample.rows()).step_by(7) {
        for chunk in 0..4 {
            let mut distance = |id: u8| -> f64 {
                let mut code = codes.code(row as u32).to_vec();
                code[chunk] = id;
                codebook.decode(&code, &mut decoded);
                let range = codebook.chunk(chunk);
                sample.row(row)[range.clone()]
                    .iter()
                    .zip(&decoded[range])
                    .map(|(x, y)| f64::from(x - y).powi(2))
                    .sum()
            };
            let best =
                (0..codebook.centroids(chunk)).map(|id| distance(id as u8)).fold(f64::INFINITY, f64::min);
            let found = distance(codes.code(row as u32)[chunk]);
            assert!(found <= best + 1e-2, "row {row} chunk {chunk}: {found} but {best} is possible");
        }
    }
}

#[test]
fn inner_product_of_rows_of_very_different_norms() {
    let mut rows = clustered(1000, 16, 5);
    for row in 0..rows.rows() {
        let norm = 0.001 * 10f32.powf(row as f32 / 500.0);
        rows.row_mut(row)
            .iter_mut()
            .enumerate()
            .for_each(|(d, x)| *x *= if d % 2 == 0 { norm } else { -norm });
    }
    let codebook = train(&rows, Metric::InnerProduct, 16);
    let codes = encode(&codebook, &rows);
    let query: Vec<f32> = (0..16).map(|d| (d as f32 - 7.0) / 3.0).collect();
    let mut table = DistanceTable::new();
    check(&codebook, &codes, &mut table, &query);
    // One byte a dimension: the estimate is near the exact −q·x, sign and scale included.
    table.fill(&codebook, &query);
    for row in 0..rows.rows() {
        let exact = measure(Metric::InnerProduct, &query, rows.row(row));
        let found = f64::from(table.estimate_one(&codes, row as u32));
        assert!((found - exact).abs() < 1.0 + 0.02 * exact.abs(), "row {row}: {found} for {exact}");
    }
}

#[test]
fn absurd_queries_and_rows_give_finite_estimates() {
    for metric in Metric::ALL {
        let codebook = train(&clustered(300, 6, 2), metric, 3);
        let rows = [[f32::MAX; 6], [f32::NAN; 6], [-f32::MAX; 6], [1e-40; 6], [f32::INFINITY; 6]].concat();
        let codes = encode(&codebook, &Matrix::from_rows(&rows, 6));
        let mut table = DistanceTable::new();
        for query in rows.chunks(6) {
            table.fill(&codebook, query);
            assert!((0..5).all(|id| table.estimate_one(&codes, id).is_finite()), "{metric} {query:?}");
        }
    }
}

#[test]
#[should_panic(expected = "query of another dimension")]
fn a_query_of_another_dimension_is_refused() {
    DistanceTable::new().fill(&train(&clustered(9, 6, 2), Metric::L2, 3), &[0.0; 7]);
}
