//! House rules and the short way to the command line.
fn main() {}
