//! Element types a vector may have.

use half::f16;
use serde::{Deserialize, Serialize};

/// The element types that files, indexes and kernels know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElementType {
    /// 32-bit IEEE float.
    F32,
    /// 16-bit IEEE float; distances are accumulated in f32.
    F16,
    /// Unsigned byte; distances are exact integers until the last conversion.
    U8,
    /// Signed byte; distances are exact integers until the last conversion.
    I8,
}

impl ElementType {
    /// Every element type, in the order of their on-disk codes.
    pub const ALL: [ElementType; 4] = [ElementType::F32, ElementType::F16, ElementType::U8, ElementType::I8];

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            ElementType::F32 => 4,
            ElementType::F16 => 2,
            ElementType::U8 | ElementType::I8 => 1,
        }
    }

    /// The lower-case name used in configs, manifests and messages.
    pub const fn name(self) -> &'static str {
        match self {
            ElementType::F32 => "f32",
            ElementType::F16 => "f16",
            ElementType::U8 => "u8",
            ElementType::I8 => "i8",
        }
    }
}

impl std::fmt::Display for ElementType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for half::f16 {}
    impl Sealed for u8 {}
    impl Sealed for i8 {}
}

/// One element of a vector. Implemented for `f32`, [`half::f16`], `u8` and `i8` only.
pub trait Element:
    sealed::Sealed + bytemuck::Pod + Send + Sync + PartialEq + std::fmt::Debug + 'static
{
    /// The run-time name of this type.
    const TYPE: ElementType;

    /// The value as f32 (exact for every type).
    fn to_f32(self) -> f32;

    /// The nearest value of this type, or `None` where `value` is not finite or lies outside the type's range.
    fn from_f32(value: f32) -> Option<Self>;
}

impl Element for f32 {
    const TYPE: ElementType = ElementType::F32;

    fn to_f32(self) -> f32 {
        self
    }

    fn from_f32(value: f32) -> Option<Self> {
        value.is_finite().then_some(value)
    }
}

impl Element for f16 {
    const TYPE: ElementType = ElementType::F16;

    fn to_f32(self) -> f32 {
        f16::to_f32(self)
    }

    fn from_f32(value: f32) -> Option<Self> {
        let narrow = f16::from_f32(value);
        (value.is_finite() && narrow.is_finite()).then_some(narrow)
    }
}

impl Element for u8 {
    const TYPE: ElementType = ElementType::U8;

    fn to_f32(self) -> f32 {
        f32::from(self)
    }

    fn from_f32(value: f32) -> Option<Self> {
        let rounded = value.round();
        (0.0..=255.0).contains(&rounded).then_some(rounded as u8)
    }
}

impl Element for i8 {
    const TYPE: ElementType = ElementType::I8;

    fn to_f32(self) -> f32 {
        f32::from(self)
    }

    fn from_f32(value: f32) -> Option<Self> {
        let rounded = value.round();
        (-128.0..=127.0).contains(&rounded).then_some(rounded as i8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrowing_refuses_what_does_not_fit() {
        assert_eq!(f16::from_f32(70_000.0), f16::INFINITY);
        assert_eq!(<f16 as Element>::from_f32(70_000.0), None);
        assert_eq!(<f16 as Element>::from_f32(65_504.0).map(f16::to_f32), Some(65_504.0));
        assert_eq!(<f32 as Element>::from_f32(f32::NAN), None);
        assert_eq!(<u8 as Element>::from_f32(-1.0), None);
        assert_eq!(<u8 as Element>::from_f32(255.4), Some(255));
        assert_eq!(<i8 as Element>::from_f32(127.6), None);
        assert_eq!(<i8 as Element>::from_f32(f32::INFINITY), None);
    }
}
