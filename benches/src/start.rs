//! How long it takes to start, and how big it is.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::ensure;

use crate::report::{Figure, Goal, Section, Unit};
use crate::times::Times;

const STARTS: usize = 100;

pub(crate) fn measure(deft: &Path) -> anyhow::Result<Section> {
    let mut times = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        let begun = Instant::now();
        let status = Command::new(deft)
            .arg("--version")
            .stdout(Stdio::null())
            .status()?;
        times.push(begun.elapsed());
        ensure!(status.success(), "`deft --version` failed: {status}");
    }
    #[allow(clippy::cast_precision_loss)] // no program has 2^52 bytes
    let megabytes = std::fs::metadata(deft)?.len() as f64 / 1e6;
    let p50 = Times::new(times).percentile(50);
    Ok(Section {
        title: "Start",
        method: "100 times `deft --version`, from spawning the process until it is reaped.",
        figures: vec![
            Figure::new(
                "`deft --version`, p50",
                p50,
                Unit::Milliseconds,
                Goal::AtMost(10.0),
            ),
            Figure::new(
                "size of the release binary",
                megabytes,
                Unit::Megabytes,
                Goal::AtMost(25.0),
            ),
        ],
    })
}
