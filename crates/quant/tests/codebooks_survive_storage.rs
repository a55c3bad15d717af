//! Bytes and parts: a round trip gives the same codebook, anything else an error that names the field.

mod data;

use data::{clustered, encode, train};
use gleann_quant::{Codebook, CodebookParts, QuantError};
use gleann_vector::Metric;
use proptest::prelude::*;

fn sample_book() -> Codebook {
    train(&clustered(40, 7, 3), Metric::Cosine, 3)
}

#[test]
fn a_round_trip_gives_the_same_codebook() {
    for metric in Metric::ALL {
        for (rows, dim, chunks) in [(0, 3, 2), (300, 10, 4), (5, 9, 9)] {
            let rows = clustered(rows, dim, 1);
            let book = train(&rows, metric, chunks);
            let bytes = book.to_bytes();
            let again = Codebook::from_bytes(&bytes).unwrap();
            assert_eq!(again.to_bytes(), bytes);
            assert_eq!(again.to_parts(), book.to_parts());
            assert_eq!((again.metric(), again.dim(), again.chunks()), (metric, dim, chunks));
            let rows = clustered(20, dim, 2);
            assert_eq!(encode(&again, &rows).as_bytes(), encode(&book, &rows).as_bytes());
        }
    }
}

#[test]
fn the_layout_is_as_documented() {
    let book = Codebook::from_parts(CodebookParts {
        metric: Metric::InnerProduct,
        bounds: vec![0, 2, 3],
        counts: vec![1, 2],
        mean: vec![1.0, 2.0, 3.0],
        centroids: vec![-1.0, 0.5, 4.0, 8.0],
    });
    let words: [u32; 9] = [1, 1, 3, 2, 0, 2, 3, 1, 2];
    let floats: [f32; 7] = [1.0, 2.0, 3.0, -1.0, 0.5, 4.0, 8.0];
    let expected: Vec<u8> = words
        .iter()
        .flat_map(|w| w.to_le_bytes())
        .chain(floats.iter().flat_map(|f| f.to_le_bytes()))
        .collect();
    assert_eq!(book.unwrap().to_bytes(), expected);
}

#[test]
fn every_cut_is_noticed() {
    let bytes = sample_book().to_bytes();
    for length in 0..bytes.len() {
        assert!(Codebook::from_bytes(&bytes[..length]).is_err(), "cut at {length}");
    }
    assert!(Codebook::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
    assert!(Codebook::from_bytes(&[&bytes[..], &[0; 4]].concat()).is_err());
}

#[test]
fn parts_that_do_not_fit_are_refused_by_name() {
    let good = sample_book().to_parts();
    type Damage = fn(&mut CodebookParts);
    let cases: [(&str, Damage); 10] = [
        ("chunks", |p| p.counts.clear()),
        ("chunks", |p| p.bounds.push(9)),
        ("chunk bounds", |p| p.bounds[0] = 1),
        ("chunk bounds", |p| p.bounds[1] = p.bounds[2]),
        ("chunk bounds", |p| p.bounds[3] = usize::MAX),
        ("centroids of a chunk", |p| p.counts[1] = 0),
        ("centroids of a chunk", |p| p.counts[1] = 257),
        ("centroid components", |p| p.centroids.truncate(5)),
        ("mean", |p| p.mean[3] = f32::NAN),
        ("centroids", |p| p.centroids[4] = f32::INFINITY),
    ];
    for (expected, damage) in cases {
        let mut parts = good.clone();
        damage(&mut parts);
        match Codebook::from_parts(parts) {
            Err(QuantError::Parts { field, .. }) => assert_eq!(field, expected),
            other => panic!("{expected}: {other:?}"),
        }
    }
    let mut parts = good;
    parts.mean.clear();
    assert_eq!(Codebook::from_parts(parts).unwrap_err(), QuantError::Dim { dim: 0 });
}

proptest! {
    #[test]
    fn damaged_bytes_never_panic(word in 0usize..40, value: u32, also in 0usize..40, small in 0u32..10) {
        let mut bytes = sample_book().to_bytes();
        for (at, value) in [(word, value), (also, small)] {
            bytes[4 * at..4 * at + 4].copy_from_slice(&value.to_le_bytes());
        }
        if let Ok(book) = Codebook::from_bytes(&bytes) {
            encode(&book, &clustered(3, book.dim(), 0));
        }
    }
}
