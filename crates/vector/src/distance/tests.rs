//! One suite for every instruction set of this binary, against naive sums in f64 and i64.

use super::cpu::Isa;
use super::{Distance, MAX_DIM};
use crate::{Element, ElementType, Matrix, Metric};
use half::f16;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Memory for one slice between two pages that must not be touched.
struct Guarded {
    start: *mut u8,
    room: usize,
}

const PAGE: usize = 4096;

impl Guarded {
    fn new(room: usize) -> Self {
        let room = room.next_multiple_of(PAGE);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh mapping, of which only the middle is made accessible.
        unsafe {
            let map = libc::mmap(std::ptr::null_mut(), room + 2 * PAGE, libc::PROT_NONE, flags, -1, 0);
            assert_ne!(map, libc::MAP_FAILED);
            let start = map.cast::<u8>().add(PAGE);
            assert_eq!(libc::mprotect(start.cast(), room, libc::PROT_READ | libc::PROT_WRITE), 0);
            Self { start, room }
        }
    }

    /// A copy of `elements` that ends where the memory ends.
    fn at_end<T: Element>(&mut self, elements: &[T]) -> &[T] {
        self.place(elements, self.room - size_of_val(elements))
    }

    /// A copy of `elements` that starts where the memory starts.
    fn at_start<T: Element>(&mut self, elements: &[T]) -> &[T] {
        self.place(elements, 0)
    }

    fn place<T: Element>(&mut self, elements: &[T], offset: usize) -> &[T] {
        assert!(offset + size_of_val(elements) <= self.room && offset.is_multiple_of(size_of::<T>()));
        // SAFETY: inside the accessible part, which self owns; offset keeps the alignment of T.
        unsafe {
            let to = self.start.add(offset).cast::<T>();
            std::ptr::copy_nonoverlapping(elements.as_ptr(), to, elements.len());
            std::slice::from_raw_parts(to, elements.len())
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping made by `new`.
        unsafe { libc::munmap(self.start.sub(PAGE).cast(), self.room + 2 * PAGE) };
    }
}

/// The distance from naive sums, and how far a float kernel may be from it.
fn oracle<T: Element>(metric: Metric, a: &[T], b: &[T]) -> (f32, f64) {
    let wide = |x: &T| f64::from(x.to_f32());
    let sum =
        |terms: &dyn Fn(f64, f64) -> f64| a.iter().zip(b).map(|(x, y)| terms(wide(x), wide(y))).sum::<f64>();
    // An f32 sum of n terms is wrong by n/2^24 of the terms' absolute sum at most; real kernels do much better.
    let share = 4e-6;
    match metric {
        Metric::L2 => {
            let exact = sum(&|x, y| (x - y) * (x - y));
            (exact as f32, share * exact)
        }
        Metric::InnerProduct => ((0.0 - sum(&|x, y| x * y)) as f32, share * sum(&|x, y| (x * y).abs())),
        Metric::Cosine => {
            let (dot, aa, bb) = (sum(&|x, y| x * y), sum(&|x, _| x * x), sum(&|_, y| y * y));
            let exact = if aa == 0.0 || bb == 0.0 { 2.0 } else { 2.0 - 2.0 * dot / (aa * bb).sqrt() };
            (exact as f32, 4.0 * share)
        }
    }
}

#[track_caller]
fn assert_right<T: Element>(found: f32, metric: Metric, a: &[T], b: &[T]) {
    let (expected, tolerance) = oracle(metric, a, b);
    match T::TYPE {
        // Integers are exact below 2^53 in the oracle's f64: the same bits, whatever the path.
        ElementType::U8 | ElementType::I8 => assert_eq!(
            found.to_bits(),
            expected.to_bits(),
            "{} {metric} dim {}: {found} for {expected}",
            T::TYPE,
            a.len()
        ),
        ElementType::F32 | ElementType::F16 => {
            let off = (f64::from(found) - f64::from(expected)).abs();
            let what = format!("{} {metric} dim {}: {found} for {expected}", T::TYPE, a.len());
            assert!(off <= tolerance, "{what}, off by {off:e}, allowed {tolerance:e}");
        }
    }
}

fn random<T: Element>(rng: &mut Pcg64Mcg, elements: usize) -> Vec<T> {
    let value = |rng: &mut Pcg64Mcg| match T::TYPE {
        ElementType::U8 => f32::from(rng.random::<u8>()),
        ElementType::I8 => f32::from(rng.random::<i8>()),
        ElementType::F32 | ElementType::F16 => rng.random_range(-1.0..1.0f32),
    };
    (0..elements).map(|_| T::from_f32(value(rng)).unwrap()).collect()
}

fn filled<T: Element>(value: f32, dim: usize) -> Vec<T> {
    vec![T::from_f32(value).unwrap(); dim]
}

/// Dimensions up to past four chunks of the widest lanes, and what data sets have.
fn dims() -> impl Iterator<Item = usize> {
    (1..=322).chain([383, 384, 511, 513, 768, 960, 1000, 1535, 1536, 2049, MAX_DIM - 1, MAX_DIM])
}

fn every_dimension_is_right_and_nothing_else_is_read<T: Element>(isa: Isa) {
    let mut rng = Pcg64Mcg::seed_from_u64(7);
    let (mut first, mut second) = (Guarded::new(MAX_DIM * 4), Guarded::new(MAX_DIM * 4));
    for dim in dims() {
        let (a, b) = (random::<T>(&mut rng, dim), random::<T>(&mut rng, dim));
        for metric in Metric::ALL {
            let distance = Distance::<T>::with_isa(metric, dim, isa);
            let found = distance.between(first.at_end(&a), second.at_end(&b));
            assert_right(found, metric, &a, &b);
            let again = distance.between(first.at_start(&a), second.at_start(&b));
            assert_eq!(again.to_bits(), found.to_bits(), "alignment changes the result");
            assert_eq!(distance.between(&b, &a).to_bits(), found.to_bits(), "not symmetric");
            let own = distance.between(&a, &a);
            assert!(metric == Metric::InnerProduct || own == 0.0, "{metric} distance {own} to itself");
        }
    }
}

fn batches_give_the_bits_of_pairs<T: Element>(isa: Isa) {
    let mut rng = Pcg64Mcg::seed_from_u64(8);
    let mut memory = Guarded::new(13 * 1536 * 4);
    for dim in
        [1, 3, 8, 15, 16, 17, 31, 33, 63, 64, 65, 96, 100, 127, 128, 129, 200, 255, 257, 384, 960, 1536]
    {
        let (query, rows) = (random::<T>(&mut rng, dim), random::<T>(&mut rng, 13 * dim));
        let matrix = Matrix::from_rows(&rows, dim);
        for metric in Metric::ALL {
            let distance = Distance::<T>::with_isa(metric, dim, isa);
            for n in 0..=13 {
                let mut found = vec![f32::NAN; n];
                distance.to_many(&query, memory.at_end(&rows[..n * dim]), &mut found);
                let expected = rows.chunks(dim).take(n).map(|row| distance.between(&query, row).to_bits());
                assert!(found.iter().map(|x| x.to_bits()).eq(expected), "{metric} dim {dim}, {n} rows");
                let ids: Vec<u32> = (0..n).map(|_| rng.random_range(0..13)).collect();
                distance.to_gathered(&query, &matrix, &ids, &mut found);
                let expected =
                    ids.iter().map(|&id| distance.between(&query, matrix.row(id as usize)).to_bits());
                assert!(found.iter().map(|x| x.to_bits()).eq(expected), "{metric} dim {dim}, {n} ids");
            }
        }
    }
}

fn extremes_stay_exact(isa: Isa) {
    // 33 025 is where an i32 would wrap; it lies beyond what a vector may have.
    for dim in [1, 63, 64, 128, 255, 256, 257, 258, 259, 1024, MAX_DIM - 1, MAX_DIM] {
        for metric in Metric::ALL {
            let unsigned = Distance::<u8>::with_isa(metric, dim, isa);
            for (x, y) in [(0, 255), (255, 255), (255, 0), (128, 127), (255, 128), (1, 254), (0, 0)] {
                let (a, b) = (vec![x; dim], vec![y; dim]);
                assert_right::<u8>(unsigned.between(&a, &b), metric, &a, &b);
            }
            let signed = Distance::<i8>::with_isa(metric, dim, isa);
            for (x, y) in [(-128, 127), (-128, -128), (127, 127), (127, -128), (0, -128), (-1, 1), (0, 0)] {
                let (a, b) = (vec![x; dim], vec![y; dim]);
                assert_right::<i8>(signed.between(&a, &b), metric, &a, &b);
            }
        }
    }
}

fn a_zero_vector_is_at_cosine_distance_2<T: Element>(isa: Isa) {
    for dim in [1, 3, 16, 100, 128, 257] {
        let (zero, other) = (filled::<T>(0.0, dim), filled::<T>(3.0, dim));
        let distance = Distance::<T>::with_isa(Metric::Cosine, dim, isa);
        for (a, b) in [(&zero, &other), (&other, &zero), (&zero, &zero)] {
            assert_eq!(distance.between(a, b), 2.0);
            let mut many = [f32::NAN; 5];
            distance.to_many(a, &b.repeat(5), &mut many);
            assert_eq!(many, [2.0; 5]);
        }
        let product = Distance::<T>::with_isa(Metric::InnerProduct, dim, isa).between(&zero, &other);
        assert_eq!(product.to_bits(), 0.0f32.to_bits(), "no negative zero");
    }
}

fn halves_are_summed_in_f32(isa: Isa) {
    let mut rng = Pcg64Mcg::seed_from_u64(9);
    let mut upto =
        |limit: f32| (0..128).map(|_| f16::from_f32(rng.random_range(0.0..limit))).collect::<Vec<_>>();
    let (a, b) = (upto(100.0), upto(100.0));
    let (low, high) = (filled::<f16>(-65_504.0, 128), filled::<f16>(65_504.0, 128));
    for metric in Metric::ALL {
        let distance = Distance::<f16>::with_isa(metric, 128, isa);
        assert_right(distance.between(&a, &b), metric, &a, &b);
        assert_right(distance.between(&low, &high), metric, &low, &high);
    }
}

fn sums_beyond_f32_are_still_right(isa: Isa) {
    let distances = |dim| Metric::ALL.map(|metric| Distance::<f32>::with_isa(metric, dim, isa));
    for dim in [2, 16, 34, 128] {
        let sides: Vec<f32> = (0..dim).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let ramp: Vec<f32> = (0..dim).map(|i| i as f32 + 1.0).collect();
        let [l2, ip, cosine] = distances(dim);
        for scale in [1e-44f32, 1e-38, 1e-25, 1e-18, 1.0, 1e18, 1e25, 1e36] {
            let (a, b) = (sides.iter().map(|x| x * scale).collect::<Vec<_>>(), ramp.clone());
            assert_right(cosine.between(&a, &b), Metric::Cosine, &a, &b);
            assert_right(cosine.between(&b, &a), Metric::Cosine, &b, &a);
            assert!(cosine.between(&a, &a) <= 1e-6);
        }
        let (huge, level) = (sides.iter().map(|x| x * 3e38).collect::<Vec<_>>(), filled::<f32>(3e38, dim));
        assert_eq!(ip.between(&huge, &level), 0.0, "+∞ and −∞ would make NaN");
        assert_eq!(ip.between(&huge, &huge), f32::NEG_INFINITY);
        assert_eq!(l2.between(&huge, &level), f32::INFINITY);
        assert_eq!(l2.between(&huge, &huge), 0.0);
        assert_eq!(cosine.between(&huge, &huge), 0.0);
        let mut many = [f32::NAN; 5];
        ip.to_many(&huge, &level.repeat(5), &mut many);
        assert_eq!(many, [0.0; 5]);
    }
}

fn finite_input_gives_no_nan(isa: Isa, a: &[f32], b: &[f32]) {
    for metric in Metric::ALL {
        let found = Distance::<f32>::with_isa(metric, a.len(), isa).between(a, b);
        assert!(!found.is_nan(), "{metric} of {a:?} and {b:?}");
        let inside = metric != Metric::Cosine || (0.0..=4.0).contains(&found);
        assert!(inside && (metric != Metric::L2 || found >= 0.0), "{metric} {found}");
    }
}

fn finite_pairs() -> impl Strategy<Value = Vec<(f32, f32)>> {
    let finite = prop::num::f32::NORMAL | prop::num::f32::SUBNORMAL | prop::num::f32::ZERO;
    prop::collection::vec((finite, finite), 1..140)
}

/// The suite for one instruction set; without the instructions it passes with a note.
macro_rules! suite {
    ($($name:ident: $isa:expr;)*) => { $(
        mod $name {
            use super::*;

            fn isa() -> Option<Isa> {
                let available = $isa.available();
                if !available {
                    eprintln!("this processor has no {:?}: not tested", $isa);
                }
                available.then_some($isa)
            }

            #[test]
            fn every_dimension_is_right_and_nothing_else_is_read() {
                let Some(isa) = isa() else { return };
                super::every_dimension_is_right_and_nothing_else_is_read::<f32>(isa);
                super::every_dimension_is_right_and_nothing_else_is_read::<f16>(isa);
                super::every_dimension_is_right_and_nothing_else_is_read::<u8>(isa);
                super::every_dimension_is_right_and_nothing_else_is_read::<i8>(isa);
            }

            #[test]
            fn batches_give_the_bits_of_pairs() {
                let Some(isa) = isa() else { return };
                super::batches_give_the_bits_of_pairs::<f32>(isa);
                super::batches_give_the_bits_of_pairs::<f16>(isa);
                super::batches_give_the_bits_of_pairs::<u8>(isa);
                super::batches_give_the_bits_of_pairs::<i8>(isa);
            }

            #[test]
            fn a_zero_vector_is_at_cosine_distance_2() {
                let Some(isa) = isa() else { return };
                super::a_zero_vector_is_at_cosine_distance_2::<f32>(isa);
                super::a_zero_vector_is_at_cosine_distance_2::<f16>(isa);
                super::a_zero_vector_is_at_cosine_distance_2::<u8>(isa);
                super::a_zero_vector_is_at_cosine_distance_2::<i8>(isa);
            }

            #[test]
            fn extremes_are_right() {
                let Some(isa) = isa() else { return };
                extremes_stay_exact(isa);
                halves_are_summed_in_f32(isa);
                sums_beyond_f32_are_still_right(isa);
            }

            proptest! {
                #[test]
                fn finite_input_gives_no_nan(pairs in finite_pairs()) {
                    if let Some(isa) = isa() {
                        let (a, b): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
                        super::finite_input_gives_no_nan(isa, &a, &b);
                    }
                }
            }
        }
    )* };
}

suite! { scalar: Isa::Scalar; }

#[cfg(target_arch = "x86_64")]
suite! {
    avx2: Isa::Avx2;
    avx512: Isa::Avx512;
    avx512_vnni: Isa::Avx512Vnni;
}

#[cfg(target_arch = "aarch64")]
suite! {
    neon: Isa::Neon;
    neon_dot: Isa::NeonDot;
}

#[test]
#[should_panic(expected = "dimension 8193; expected 1 to 8192")]
fn a_dimension_beyond_the_limit_is_refused() {
    Distance::<u8>::new(Metric::L2, MAX_DIM + 1);
}

#[test]
#[should_panic(expected = "row 7 of 3")]
fn an_id_outside_the_matrix_is_refused() {
    let distance = Distance::<u8>::new(Metric::L2, 4);
    distance.to_gathered(&[0; 4], &Matrix::zeroed(3, 4), &[1, 7, 0], &mut [0.0; 3]);
}

#[test]
#[should_panic(expected = "rows and results do not match")]
fn a_wrong_number_of_results_is_refused() {
    Distance::<u8>::new(Metric::L2, 4).to_many(&[0; 4], &[0; 8], &mut [0.0; 3]);
}

#[test]
#[should_panic(expected = "vector of another dimension")]
fn a_vector_of_another_dimension_is_refused() {
    Distance::<u8>::new(Metric::L2, 4).between(&[0; 4], &[0; 3]);
}
