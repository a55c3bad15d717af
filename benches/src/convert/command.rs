//! The verb: what kind of file it is, and what becomes of it.

use super::hdf5::convert_hdf5;
use crate::progress::Console;
use anyhow::{Context, Result, ensure};
use gleann_vector::{FileFormat, VectorFile};
use std::path::{Path, PathBuf};

/// Convert data sets of other benchmarks.
///
/// An ann-benchmarks or VIBE file (.hdf5) becomes base, queries and ground truth in the big-ann forms, in a folder. A
/// vector file becomes one of another form: .fbin, .f16bin, .u8bin, .i8bin, .fvecs, .bvecs or .npy, by the name of the
/// output; its elements stay what they are.
#[derive(Debug, clap::Args)]
pub struct ConvertArgs {
    /// The file: .hdf5 (or .h5), .fbin, .f16bin, .u8bin, .i8bin, .fvecs, .bvecs or .npy
    input: PathBuf,
    /// The folder, or for a vector file the file to write
    #[arg(long, value_name = "PATH")]
    out: PathBuf,
    /// Leave the ground truth of an .hdf5 file out
    #[arg(long)]
    no_truth: bool,
    /// Print nothing but errors
    #[arg(long)]
    quiet: bool,
}

/// Runs the verb.
///
/// # Errors
/// The input is of no kind that is known, is damaged, or holds what has no counterpart here; the output cannot be
/// written.
pub fn run(args: ConvertArgs) -> Result<()> {
    if is_hdf5(&args.input) {
        let progress = Console::start(args.quiet);
        let converted = convert_hdf5(&args.input, &args.out, !args.no_truth, &progress);
        progress.end();
        let lines = converted?;
        if !args.quiet {
            lines.iter().for_each(|line| println!("{line}"));
        }
        return Ok(());
    }
    let source = VectorFile::open(&args.input)?;
    let format = FileFormat::of_path(&args.out).with_context(|| {
        format!("--out {}: its ending is no form of vector file; expected one like .fbin", args.out.display())
    })?;
    ensure!(
        !same_file(&args.input, &args.out),
        "--out {}: is the input; name another file",
        args.out.display()
    );
    source.copy_to(&args.out, format)?;
    if !args.quiet {
        let (rows, dim, element) = (source.rows(), source.dim(), source.element_type());
        println!("{}: {rows} vectors of {dim} × {element}", args.out.display());
    }
    Ok(())
}

fn is_hdf5(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("hdf5") || ending.eq_ignore_ascii_case("h5"))
}

fn same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleann_vector::VectorWriter;

    #[test]
    fn vector_files_change_their_form_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let first = folder.path().join("rows.fvecs");
        let rows: Vec<f32> = (0..21).map(|x| x as f32 / 4.0).collect();
        let mut writer = VectorWriter::<f32>::create(&first, FileFormat::Fvecs, 7).unwrap();
        writer.push_rows(&rows).unwrap();
        writer.finish().unwrap();
        let convert = |input: &Path, out: &str| {
            let out = folder.path().join(out);
            let args = ConvertArgs { input: input.into(), out: out.clone(), no_truth: false, quiet: true };
            run(args).map(|()| out)
        };
        let second = convert(&convert(&first, "rows.npy").unwrap(), "rows.fbin").unwrap();
        let back = convert(&second, "back.fvecs").unwrap();
        assert_eq!(std::fs::read(back).unwrap(), std::fs::read(&first).unwrap());
        let refusal = |out| format!("{:#}", convert(&first, out).unwrap_err());
        assert!(refusal("rows.u8bin").contains("f32"), "{}", refusal("rows.u8bin"));
        assert!(refusal("rows.txt").contains("no form of vector file"));
        assert!(refusal("rows.fvecs").contains("is the input"));
    }
}
