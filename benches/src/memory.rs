//! How much memory a run takes.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::machine::kibibytes;
use crate::place::Place;
use crate::report::{Figure, Goal, Section, Unit};

/// What the scripted model does. It is told its usage, as a provider would know it: else it counts the whole history.
const SCRIPT: &str = r#"
- repeat: 500
  usage: {prompt: 1000, completion: 20}
  tool_calls: [{name: terminal, arguments: {command: "echo {{n}}"}}]
"#;
const POLL: Duration = Duration::from_millis(2);

pub(crate) fn measure(deft: &Path) -> anyhow::Result<Section> {
    let place = Place::new()?;
    let script = place.path("script.yaml");
    fs::write(&script, SCRIPT)?;
    let mut model = OsStr::new("script:").to_owned();
    model.push(&script);
    let mut run = Command::new(deft)
        .args(["run", "--task", "Go.", "--max-steps", "1000", "--model"])
        .arg(model)
        .arg("--data-dir")
        .arg(place.path("data"))
        .arg("--workspace")
        .arg(format!("local:{}", place.work().display())) // the executor is its only child
        // The settings of whoever measures are not measured.
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", place.work())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()?;

    // A peak only grows, so the last look counts. (The highest would not do: a process that is just being started
    // shows its parent's.)
    let (mut own, mut executors) = (None, None);
    let status = loop {
        own = peak(run.id()).or(own);
        executors = child(run.id()).and_then(peak).or(executors);
        if let Some(status) = run.try_wait()? {
            break status;
        }
        thread::sleep(POLL);
    };
    ensure!(status.success(), "`deft run` failed: {status}");
    let own = own.context("the memory of `deft run` cannot be read from /proc")?;
    let executors = executors.context("the memory of the executor cannot be read from /proc")?;
    Ok(Section {
        title: "Memory",
        method: "`deft run` with the same script of 500 steps; `VmHWM` of both processes, read until they end.",
        figures: vec![
            Figure::new(
                "peak memory of `deft run`",
                own,
                Unit::Megabytes,
                Goal::AtMost(40.0),
            ),
            Figure::new(
                "peak memory of its executor",
                executors,
                Unit::Megabytes,
                Goal::None,
            ),
        ],
    })
}

/// The most memory a process has had, in megabytes.
fn peak(process: u32) -> Option<f64> {
    let kibibytes = kibibytes(&format!("/proc/{process}/status"), "VmHWM")?;
    #[allow(clippy::cast_precision_loss)] // no machine has that much
    Some(kibibytes as f64 * 1024.0 / 1e6)
}

/// The one child that `deft run` has.
fn child(process: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}
