//! What it costs to shut an agent in.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use deft_executor::Client;
use deft_workspace::{LocalWorkspace, Workspace};

use crate::commands::echo;
use crate::place::{Place, runtime};
use crate::report::{Figure, Goal, Section, Unit};
use crate::times::Times;

const STARTS: usize = 100;
const AT_ONCE: usize = 50;
/// As on every machine that these goals are for.
const PAGE: f64 = 4096.0;

pub(crate) fn measure(deft: &Path) -> anyhow::Result<Section> {
    let runtime = runtime()?;
    let p95 = Times::new(runtime.block_on(starts(deft))?).percentile(95);
    let megabytes = runtime.block_on(at_once(deft))?;
    Ok(Section {
        title: "Sandbox",
        method: "100 times a new sandbox as `deft run` makes it by default, from looking at what the machine offers \
                 until the result of `echo hi` in its shell is there. Memory: fifty at once, each with its shell; what \
                 all their processes (executor, proxy, bubblewrap, shell) hold for themselves, shared pages not \
                 counted, divided by fifty.",
        figures: vec![
            Figure::new(
                "new sandbox until its first command's output, p95",
                p95,
                Unit::Milliseconds,
                Goal::AtMost(50.0),
            ),
            Figure::new(
                "memory of a sandbox",
                megabytes,
                Unit::Megabytes,
                Goal::AtMost(8.0),
            ),
        ],
    })
}

async fn starts(deft: &Path) -> anyhow::Result<Vec<Duration>> {
    let mut times = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        let place = Place::new()?;
        let begun = Instant::now();
        let client = open(&place.sandboxed(deft)?).await?;
        times.push(begun.elapsed());
        client.shutdown().await;
    }
    Ok(times)
}

async fn open(workspace: &LocalWorkspace) -> anyhow::Result<Client> {
    let client = Client::connect(workspace.open().await?).await?;
    echo(&client).await?;
    Ok(client)
}

async fn at_once(deft: &Path) -> anyhow::Result<f64> {
    let mut open_ones = Vec::with_capacity(AT_ONCE);
    let mut memory = 0.0;
    for _ in 0..AT_ONCE {
        let place = Place::new()?;
        let workspace = place.sandboxed(deft)?;
        let client = open(&workspace).await?;
        open_ones.push((place, workspace, client));
    }
    for (_, workspace, _) in &open_ones {
        memory += memory_of_those_that_name(&workspace.directory.display().to_string())?;
    }
    for (_place, _, client) in &open_ones {
        client.shutdown().await;
    }
    #[allow(clippy::cast_precision_loss)] // there are fifty
    Ok(memory / AT_ONCE as f64)
}

/// What the processes with a path in their command line hold for themselves, in megabytes.
fn memory_of_those_that_name(path: &str) -> anyhow::Result<f64> {
    let mut pages = 0.0;
    for process in fs::read_dir("/proc")?.flatten() {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&line).contains(path) {
            let counts = fs::read_to_string(process.path().join("statm")).unwrap_or_default();
            let counts: Vec<f64> = counts.split(' ').filter_map(|count| count.parse().ok()).collect();
            if let [_, resident, shared, ..] = counts[..] {
                pages += resident - shared;
            }
        }
    }
    Ok(pages * PAGE / 1e6)
}
