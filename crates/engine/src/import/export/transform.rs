//! What becomes of a vector in the disk file.

use gleann_vector::{Element, ElementType};

/// How vectors are stored there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Transform {
    /// As they are.
    None,
    /// As f32.
    Float,
    /// As f32 of length 1; zero vectors stay zero.
    Normalised,
    /// As f32, divided by the largest norm, with one more component that makes the length 1. Nearest in L2 is then
    /// largest in inner product.
    Augmented {
        /// The largest norm.
        norm: f32,
    },
}

impl Transform {
    pub(super) fn element(&self, own: ElementType) -> ElementType {
        if *self == Transform::None { own } else { ElementType::F32 }
    }

    pub(super) fn dim(&self, own: usize) -> usize {
        own + usize::from(matches!(self, Transform::Augmented { .. }))
    }

    /// Bytes of a code: the additional component has one of its own.
    pub(super) fn chunks(&self, own: usize) -> usize {
        self.dim(own)
    }

    /// Replaces the content of `into` by the bytes of the stored vector.
    pub(super) fn vector<T: Element>(&self, row: &[T], into: &mut Vec<u8>) {
        into.clear();
        let scale = match self {
            Transform::None => return into.extend_from_slice(bytemuck::cast_slice(row)),
            Transform::Float => 1.0,
            Transform::Normalised => match squared_norm(row) {
                0.0 => 1.0,
                norm => 1.0 / norm.sqrt(),
            },
            Transform::Augmented { norm } => 1.0 / f64::from(*norm),
        };
        let scaled = row.iter().map(|x| (f64::from(x.to_f32()) * scale) as f32);
        into.extend(scaled.flat_map(f32::to_le_bytes));
        if let Transform::Augmented { norm } = self {
            let rest = 1.0 - squared_norm(row) / f64::from(*norm).powi(2);
            into.extend((rest.max(0.0).sqrt() as f32).to_le_bytes());
        }
    }

    /// The code of the additional component of a stored vector: steps of 1/255 from 0 to 1.
    pub(super) fn last_code(&self, vector: &[u8]) -> Option<u8> {
        let Transform::Augmented { .. } = self else { return None };
        let last = vector.last_chunk::<4>().expect("a vector with one more component");
        Some((f32::from_le_bytes(*last).clamp(0.0, 1.0) * 255.0).round() as u8)
    }

    /// What a user should know of it.
    pub(super) fn notes(&self, own: ElementType) -> Vec<String> {
        let note = match self {
            Transform::None => return Vec::new(),
            Transform::Float => format!("vectors of {own} are exported as f32"),
            Transform::Normalised => format!("vectors of {own} are exported as f32, normalised"),
            Transform::Augmented { norm } => {
                format!("vectors are divided by {norm}, the largest norm, and have one more component")
            }
        };
        vec![note]
    }
}

/// The sum of the squares.
pub(super) fn squared_norm<T: Element>(row: &[T]) -> f64 {
    row.iter().map(|x| f64::from(x.to_f32()).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(transform: Transform, row: &[f32]) -> Vec<f32> {
        let mut bytes = Vec::new();
        transform.vector(row, &mut bytes);
        bytes.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect()
    }

    #[test]
    fn vectors_are_scaled_and_completed() {
        assert_eq!(floats(Transform::Normalised, &[3.0, 4.0]), [0.6, 0.8]);
        assert_eq!(floats(Transform::Normalised, &[0.0, 0.0]), [0.0, 0.0]);
        let augmented = Transform::Augmented { norm: 5.0 };
        assert_eq!(floats(augmented, &[3.0, 4.0]), [0.6, 0.8, 0.0]);
        assert_eq!(floats(augmented, &[3.0, 0.0]), [0.6, 0.0, 0.8]);
        let code = |value: f32| augmented.last_code(&value.to_le_bytes());
        assert_eq!((code(0.0), code(0.8), code(1.0)), (Some(0), Some(204), Some(255)));
        assert_eq!(Transform::None.last_code(&[0; 4]), None);
    }
}
