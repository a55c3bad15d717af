//! The name of one build, in every file of an index: what ties the members together.

/// 16 bytes that follow from the input and everything that shaped the build, and from nothing else: the same
/// input and parameters give the same id (and the same files), another build another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BuildId(pub [u8; 16]);

// FNV-1a with 128 bits: it guards against mix-ups, not against an adversary.
const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = (1 << 88) + 0x13b;

impl BuildId {
    /// The id that follows from `parts`, whose order and boundaries count.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut state = BASIS;
        for part in parts {
            for &byte in (part.len() as u64).to_le_bytes().iter().chain(*part) {
                state = (state ^ u128::from(byte)).wrapping_mul(PRIME);
            }
        }
        Self(state.to_le_bytes())
    }
}

impl std::fmt::Display for BuildId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_boundaries_count() {
        let parts: [&[&[u8]]; 6] = [&[], &[b""], &[b"ab"], &[b"a", b"b"], &[b"b", b"a"], &[b"ab", b""]];
        for (i, a) in parts.iter().enumerate() {
            for (j, b) in parts.iter().enumerate() {
                assert_eq!(BuildId::of(a) == BuildId::of(b), i == j, "{a:?} {b:?}");
            }
        }
        assert_eq!(BuildId([0xab; 16]).to_string(), "ab".repeat(16));
    }
}
