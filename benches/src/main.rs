//! Measures the release `deft` and writes `BENCHMARKS.md`: `make bench`.
//!
//! It may use every crate, and none may use it. Begin reading at [`main`]; each figure's goal and method stand in
//! the file that measures it.
#![allow(clippy::print_stdout)] // this is a command line

mod append;
mod browser;
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
}

/// What one file measures.
type Measure = fn(&Path) -> anyhow::Result<Section>;

fn main() -> anyhow::Result<()> {
    let deft = Args::parse().deft;
    let deft = deft
        .canonicalize()
        .with_context(|| format!("there is no {}; build it with `make build`", deft.display()))?;
    let machine = Machine::look();
    let measures: [Measure; 13] = [
        start::measure,
        streams::measure,
        commands::measure,
        sandbox::measure,
        workspaces::measure,
        browser::measure,
        search::measure,
        edits::measure,
        steps::measure,
        engine::measure,
        append::measure,
        checkpoints::measure,
        memory::measure,
    ];
    let mut sections = Vec::with_capacity(measures.len());
    for measure in measures {
        let section = measure(&deft)?;
        print!("{}", report::lines(&section));
        sections.push(section);
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../BENCHMARKS.md");
    std::fs::write(&page, report::page(&machine, &sections))
        .with_context(|| format!("cannot write {}", page.display()))
}
