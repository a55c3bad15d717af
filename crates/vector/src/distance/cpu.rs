//! Which instruction set this process uses: asked of the processor at run time, decided once.

use super::kernel::Kernels;
use super::scalar;
use crate::{ElementType, Metric};
use std::sync::OnceLock;

/// The instruction set a kernel is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CpuPath {
    /// Plain Rust, for every processor.
    Scalar,
    /// x86-64 with AVX2, FMA and F16C.
    Avx2,
    /// x86-64 with AVX-512 F, BW and VL on top of AVX2; the byte kernels use VNNI where the processor has it.
    Avx512,
    /// 64-bit Arm with Advanced SIMD; the byte kernels use the dot-product instructions where the processor has
    /// them.
    Neon,
}

impl CpuPath {
    /// Every path, those of other processors included.
    pub const ALL: [CpuPath; 4] = [CpuPath::Scalar, CpuPath::Avx2, CpuPath::Avx512, CpuPath::Neon];

    /// Whether this processor can run the path.
    pub fn available(self) -> bool {
        Isa::best_of(self).is_some()
    }

    /// The lower-case name used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            CpuPath::Scalar => "scalar",
            CpuPath::Avx2 => "avx2",
            CpuPath::Avx512 => "avx512",
            CpuPath::Neon => "neon",
        }
    }
}

impl std::fmt::Display for CpuPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// The path this process uses: the best this processor has, or [`CpuPath::Scalar`] where the environment variable
/// `GLEANN_FORCE_SCALAR` is set to anything but nothing or `0`. Decided once per process.
pub fn cpu_path() -> CpuPath {
    Isa::chosen().path()
}

/// The path in use for reports, with the optional instructions it uses: `scalar`, `avx2`, `avx512 (vnni)`, ….
pub fn cpu_report() -> String {
    let isa = Isa::chosen();
    match isa.extension() {
        Some(extension) => format!("{} ({extension})", isa.path()),
        None => isa.path().to_string(),
    }
}

/// A path together with the optional instructions of the processor it runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Isa {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx512Vnni,
    #[cfg(target_arch = "aarch64")]
    Neon,
    #[cfg(target_arch = "aarch64")]
    NeonDot,
}

impl Isa {
    /// Every set this binary has kernels for, slowest first.
    pub(super) const ALL: &'static [Isa] = &[
        Isa::Scalar,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512Vnni,
        #[cfg(target_arch = "aarch64")]
        Isa::Neon,
        #[cfg(target_arch = "aarch64")]
        Isa::NeonDot,
    ];

    /// The set this process uses.
    pub(super) fn chosen() -> Isa {
        static CHOSEN: OnceLock<Isa> = OnceLock::new();
        *CHOSEN.get_or_init(|| {
            let forced = std::env::var_os("GLEANN_FORCE_SCALAR").is_some_and(|value| forces(&value));
            Isa::choose(forced)
        })
    }

    fn choose(forced_scalar: bool) -> Isa {
        let candidates = Isa::ALL.iter().rev().copied();
        if forced_scalar {
            Isa::Scalar
        } else {
            candidates.into_iter().find(|isa| isa.available()).unwrap_or(Isa::Scalar)
        }
    }

    /// The best set of `path` this processor can run.
    pub(super) fn best_of(path: CpuPath) -> Option<Isa> {
        Isa::ALL.iter().rev().copied().find(|isa| isa.path() == path && isa.available())
    }

    /// Whether this processor can run the set.
    pub(super) fn available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        use std::arch::is_x86_feature_detected as has;
        match self {
            Isa::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => has!("avx2") && has!("fma") && has!("f16c"),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => Isa::Avx2.available() && has!("avx512f") && has!("avx512bw") && has!("avx512vl"),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512Vnni => Isa::Avx512.available() && has!("avx512vnni"),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            #[cfg(target_arch = "aarch64")]
            Isa::NeonDot => Isa::Neon.available() && std::arch::is_aarch64_feature_detected!("dotprod"),
        }
    }

    /// The path users know the set by.
    pub(super) fn path(self) -> CpuPath {
        match self {
            Isa::Scalar => CpuPath::Scalar,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => CpuPath::Avx2,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 | Isa::Avx512Vnni => CpuPath::Avx512,
            #[cfg(target_arch = "aarch64")]
            Isa::Neon | Isa::NeonDot => CpuPath::Neon,
        }
    }

    fn extension(self) -> Option<&'static str> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512Vnni => Some("vnni"),
            #[cfg(target_arch = "aarch64")]
            Isa::NeonDot => Some("dotprod"),
            _ => None,
        }
    }

    /// The kernels of one element type and metric. To be called only where the set is [available](Isa::available).
    pub(super) fn kernels(self, element: ElementType, metric: Metric) -> Kernels {
        match self {
            Isa::Scalar => scalar::kernels(element, metric),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => super::avx2::kernels(element, metric),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => super::avx512::kernels(element, metric),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512Vnni => super::avx512::kernels_vnni(element, metric),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => super::neon::kernels(element, metric),
            #[cfg(target_arch = "aarch64")]
            Isa::NeonDot => super::neon::kernels_dot(element, metric),
        }
    }
}

/// Whether this value of `GLEANN_FORCE_SCALAR` forces the scalar path.
fn forces(value: &std::ffi::OsStr) -> bool {
    !(value.is_empty() || value == "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anything_but_nothing_and_zero_forces_scalar() {
        assert!(!forces("".as_ref()) && !forces("0".as_ref()));
        assert!(forces("1".as_ref()) && forces("yes".as_ref()) && forces("00".as_ref()));
        assert_eq!(Isa::choose(true), Isa::Scalar);
    }

    #[test]
    fn the_report_of_this_process() {
        println!("report: {}", cpu_report());
    }

    /// The switch is read once per process, so it takes another process to see it.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_switch_forces_scalar() {
        let report = |value: &str| {
            let output = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "distance::cpu::tests::the_report_of_this_process", "--nocapture"])
                .env("GLEANN_FORCE_SCALAR", value)
                .output()
                .unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            printed.lines().find_map(|line| line.split_once("report: ")).unwrap().1.to_owned()
        };
        assert_eq!(report("1"), "scalar");
        assert!(report("0").starts_with(Isa::choose(false).path().name()));
    }

    #[test]
    fn the_choice_is_the_best_available_and_is_reported() {
        let best = Isa::choose(false);
        assert!(best.available());
        assert!(Isa::ALL.iter().rev().take_while(|isa| **isa != best).all(|isa| !isa.available()));
        assert!(cpu_path().available());
        assert!(cpu_report().starts_with(cpu_path().name()));
        assert_eq!(CpuPath::Neon.available(), cfg!(target_arch = "aarch64"));
        assert_eq!(Isa::best_of(CpuPath::Scalar), Some(Isa::Scalar));
    }
}
