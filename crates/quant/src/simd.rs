//! Sixteen f32 in registers, one implementation for each instruction set. Products and sums stay separate operations
//! (never fused), so that all of them give the same bits.

/// Values in a [`Lane`].
pub(crate) const LANES: usize = 16;

/// Sixteen values in memory: one component of sixteen rows, or of sixteen centroids.
#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
pub(crate) struct Lane(pub [f32; LANES]);

impl Lane {
    pub(crate) const ZERO: Lane = Lane([0.0; LANES]);
}

/// Sixteen f32 in registers. A value of an implementation is made only on processors that have its instructions.
pub(crate) trait Simd: Copy {
    /// Sixteen u32.
    type Ids: Copy;
    /// Sixteen truth values.
    type Mask: Copy;

    fn load(lane: &Lane) -> Self;
    fn store(self) -> Lane;
    fn splat(value: f32) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// Where `self` is less than `other`.
    fn less(self, other: Self) -> Self::Mask;
    /// `yes` where the mask is set, `no` elsewhere.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    fn splat_id(id: u32) -> Self::Ids;
    fn select_ids(mask: Self::Mask, yes: Self::Ids, no: Self::Ids) -> Self::Ids;
    fn store_ids(ids: Self::Ids) -> [u32; LANES];
}

/// What the target guarantees (SSE2, NEON), by way of the compiler.
#[derive(Clone, Copy)]
pub(crate) struct Plain([f32; LANES]);

impl Plain {
    #[inline(always)]
    fn zip(mut self, other: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        for (value, &other) in self.0.iter_mut().zip(&other.0) {
            *value = f(*value, other);
        }
        self
    }
}

impl Simd for Plain {
    type Ids = [u32; LANES];
    type Mask = [bool; LANES];

    #[inline(always)]
    fn load(lane: &Lane) -> Self {
        Self(lane.0)
    }
    #[inline(always)]
    fn store(self) -> Lane {
        Lane(self.0)
    }
    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self([value; LANES])
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }
    #[inline(always)]
    fn less(self, other: Self) -> Self::Mask {
        std::array::from_fn(|i| self.0[i] < other.0[i])
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Self(std::array::from_fn(|i| if mask[i] { yes.0[i] } else { no.0[i] }))
    }
    #[inline(always)]
    fn splat_id(id: u32) -> Self::Ids {
        [id; LANES]
    }
    #[inline(always)]
    fn select_ids(mask: Self::Mask, yes: Self::Ids, no: Self::Ids) -> Self::Ids {
        std::array::from_fn(|i| if mask[i] { yes[i] } else { no[i] })
    }
    #[inline(always)]
    fn store_ids(ids: Self::Ids) -> [u32; LANES] {
        ids
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
#[allow(clippy::undocumented_unsafe_blocks, reason = "one reason for all: see the trait")]
mod x86 {
    //! SAFETY of every block: values of these types are made only inside of kernels compiled for, and called on, the
    //! instruction set they are named after; loads and stores stay inside of a [`Lane`] or an array as large.

    use super::{LANES, Lane, Simd};
    use std::arch::x86_64::*;

    #[derive(Clone, Copy)]
    pub(crate) struct Avx512(__m512);

    impl Simd for Avx512 {
        type Ids = __m512i;
        type Mask = __mmask16;

        #[inline(always)]
        fn load(lane: &Lane) -> Self {
            Self(unsafe { _mm512_load_ps(lane.0.as_ptr()) })
        }
        #[inline(always)]
        fn store(self) -> Lane {
            let mut lane = Lane::ZERO;
            unsafe { _mm512_store_ps(lane.0.as_mut_ptr(), self.0) };
            lane
        }
        #[inline(always)]
        fn splat(value: f32) -> Self {
            Self(unsafe { _mm512_set1_ps(value) })
        }
        #[inline(always)]
        fn add(self, other: Self) -> Self {
            Self(unsafe { _mm512_add_ps(self.0, other.0) })
        }
        #[inline(always)]
        fn sub(self, other: Self) -> Self {
            Self(unsafe { _mm512_sub_ps(self.0, other.0) })
        }
        #[inline(always)]
        fn mul(self, other: Self) -> Self {
            Self(unsafe { _mm512_mul_ps(self.0, other.0) })
        }
        #[inline(always)]
        fn less(self, other: Self) -> Self::Mask {
            unsafe { _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, other.0) }
        }
        #[inline(always)]
        fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
            Self(unsafe { _mm512_mask_blend_ps(mask, no.0, yes.0) })
        }
        #[inline(always)]
        fn splat_id(id: u32) -> Self::Ids {
            unsafe { _mm512_set1_epi32(id as i32) }
        }
        #[inline(always)]
        fn select_ids(mask: Self::Mask, yes: Self::Ids, no: Self::Ids) -> Self::Ids {
            unsafe { _mm512_mask_blend_epi32(mask, no, yes) }
        }
        #[inline(always)]
        fn store_ids(ids: Self::Ids) -> [u32; LANES] {
            let mut out = [0; LANES];
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), ids) };
            out
        }
    }

    #[derive(Clone, Copy)]
    pub(crate) struct Avx2([__m256; 2]);

    impl Simd for Avx2 {
        type Ids = [__m256; 2];
        type Mask = [__m256; 2];

        #[inline(always)]
        fn load(lane: &Lane) -> Self {
            let start = lane.0.as_ptr();
            Self(unsafe { [_mm256_load_ps(start), _mm256_load_ps(start.add(8))] })
        }
        #[inline(always)]
        fn store(self) -> Lane {
            let mut lane = Lane::ZERO;
            let start = lane.0.as_mut_ptr();
            unsafe {
                _mm256_store_ps(start, self.0[0]);
                _mm256_store_ps(start.add(8), self.0[1]);
            }
            lane
        }
        #[inline(always)]
        fn splat(value: f32) -> Self {
            Self(unsafe { [_mm256_set1_ps(value); 2] })
        }
        #[inline(always)]
        fn add(self, other: Self) -> Self {
            Self(unsafe { [_mm256_add_ps(self.0[0], other.0[0]), _mm256_add_ps(self.0[1], other.0[1])] })
        }
        #[inline(always)]
        fn sub(self, other: Self) -> Self {
            Self(unsafe { [_mm256_sub_ps(self.0[0], other.0[0]), _mm256_sub_ps(self.0[1], other.0[1])] })
        }
        #[inline(always)]
        fn mul(self, other: Self) -> Self {
            Self(unsafe { [_mm256_mul_ps(self.0[0], other.0[0]), _mm256_mul_ps(self.0[1], other.0[1])] })
        }
        #[inline(always)]
        fn less(self, other: Self) -> Self::Mask {
            unsafe {
                [
                    _mm256_cmp_ps::<_CMP_LT_OQ>(self.0[0], other.0[0]),
                    _mm256_cmp_ps::<_CMP_LT_OQ>(self.0[1], other.0[1]),
                ]
            }
        }
        #[inline(always)]
        fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
            Self(Self::select_ids(mask, yes.0, no.0))
        }
        #[inline(always)]
        fn splat_id(id: u32) -> Self::Ids {
            unsafe { [_mm256_castsi256_ps(_mm256_set1_epi32(id as i32)); 2] }
        }
        #[inline(always)]
        fn select_ids(mask: Self::Mask, yes: Self::Ids, no: Self::Ids) -> Self::Ids {
            unsafe { [_mm256_blendv_ps(no[0], yes[0], mask[0]), _mm256_blendv_ps(no[1], yes[1], mask[1])] }
        }
        #[inline(always)]
        fn store_ids(ids: Self::Ids) -> [u32; LANES] {
            Self(ids).store().0.map(f32::to_bits)
        }
    }
}
