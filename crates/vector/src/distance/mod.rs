//! Ordering distances (see [`Metric`](crate::Metric) for signs), resolved once per element type, metric and
//! processor to the best kernels.
//!
//! - `ordering` is what callers use: a checked, typed front;
//! - `cpu` decides which instruction set this process uses;
//! - `kernel` is the algorithm, written once over a [`kernel::Lanes`];
//! - `measure` says what each metric sums up and makes of the sums;
//! - `scalar`, `avx2`, `avx512` and `neon` are the lanes, one instruction set each, with all the SIMD there is.
//!
//! How fast each is, and how they compare with other code: `docs/design/kernels.md`.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod cpu;
mod kernel;
mod measure;
#[cfg(target_arch = "aarch64")]
mod neon;
mod ordering;
mod scalar;
#[cfg(test)]
mod tests;

pub use cpu::{CpuPath, cpu_path, cpu_report};
pub use ordering::{Distance, MAX_DIM};
