//! House rules and the short way to the command line: `cargo xtask VERB …`.
//!
//! `tidy` runs here; every other verb builds and becomes the release binary `gleann-bench`, so that nothing is
//! ever measured in a debug build.

mod launch;
mod tidy;
mod verbs;

use std::path::Path;
use std::process::ExitCode;

/// Where the workspace is: the folder above this package.
fn workspace_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies one folder below the workspace root")
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let verb = arguments.first().and_then(|verb| verb.to_str()).unwrap_or("--help");
    match verb {
        "-h" | "--help" | "help" if arguments.len() <= 1 => {
            print!("{}", verbs::overview());
            ExitCode::SUCCESS
        }
        "tidy" => tidy::main(workspace_root()),
        verb if verbs::is_known(verb) => launch::become_bench(workspace_root(), &arguments),
        "help" => launch::become_bench(workspace_root(), &arguments),
        unknown => {
            eprint!("unknown verb `{unknown}`\n\n{}", verbs::overview());
            ExitCode::from(2)
        }
    }
}
