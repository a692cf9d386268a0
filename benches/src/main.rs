//! Measures the release `deft` and writes `BENCHMARKS.md`: `make bench`.
//!
//! It may use every crate, and none may use it. Begin reading at [`main`]; each figure's goal and method stand in
//! the file that measures it.
#![allow(clippy::print_stdout)] // this is a command line

mod append;
mod browser;
mod caller;
mod checkpoints;
mod commands;
mod edits;
mod engine;
mod machine;
mod memory;
mod place;
mod report;
mod sandbox;
mod search;
mod server;
mod start;
mod steps;
mod streams;
mod times;
mod workspaces;

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Parser;

use machine::Machine;
use report::Section;

/// Measures the release `deft` and writes BENCHMARKS.md.
#[derive(Parser)]
struct Args {
    /// The `deft` to measure
    #[arg(long, value_name = "PATH")]
    deft: PathBuf,
    /// Measure only these, and write no page: start, streams, search …
    only: Vec<String>,
}

/// What one file measures.
type Measure = fn(&Path) -> anyhow::Result<Section>;

fn main() -> anyhow::Result<()> {
    let Args { deft, only } = Args::parse();
    let deft = deft
        .canonicalize()
        .with_context(|| format!("there is no {}; build it with `make build`", deft.display()))?;
    let machine = Machine::look();
    let measures: &[(&str, Measure)] = &[
        ("start", start::measure),
        ("streams", streams::measure),
        ("commands", commands::measure),
        ("sandbox", sandbox::measure),
        ("workspaces", workspaces::measure),
        ("browser", browser::measure),
        ("search", search::measure),
        ("edits", edits::measure),
        ("steps", steps::measure),
        ("engine", engine::measure),
        ("append", append::measure),
        ("checkpoints", checkpoints::measure),
        ("memory", memory::measure),
        ("server", server::measure),
        ("reference", server::beside::measure),
    ];
    let mut sections = Vec::with_capacity(measures.len());
    for (name, measure) in measures {
        if only.is_empty() || only.iter().any(|wanted| wanted == name) {
            let section = measure(&deft)?;
            print!("{}", report::lines(&section));
            sections.push(section);
        }
    }
    if !only.is_empty() {
        return Ok(());
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../BENCHMARKS.md");
    std::fs::write(&page, report::page(&machine, &sections))
        .with_context(|| format!("cannot write {}", page.display()))
}
