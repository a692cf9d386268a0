//! The `deft` command.
fn main() {}
