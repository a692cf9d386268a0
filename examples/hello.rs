//! A conversation in a program of your own, with a model that follows a script.
//!
//! Run it: `cargo run --package deft-cli --example hello`

mod embedded;

use std::path::Path;

use deft_tools::Toolbox;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/hello.yaml");

#[tokio::main(flavor = "current_thread")]
#[allow(clippy::print_stdout)]
async fn main() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    println!("{}", hello(directory.path()).await?);
    Ok(())
}

/// What the tools answer while the agent says hello.
pub(crate) async fn hello(directory: &Path) -> anyhow::Result<String> {
    let answers = embedded::run(directory, SCRIPT, Toolbox::host(), "Say hello.").await?;
    Ok(answers.join("\n"))
}
