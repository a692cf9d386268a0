//! What it costs to be able to go back.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::ensure;
use deft_tools::{CheckpointLimits, Checkpoints, Overwrite};

use crate::report::{Figure, Goal, Section, Unit};
use crate::times::Times;

const FILES: usize = 5000;
const FILES_IN_DIRECTORY: usize = 25;
const FILE_BYTES: usize = 4096;
const RESTORED: usize = 10;
const RUNS: usize = 5;
/// For five seconds ext4 does not use the places of deleted files again, and looks for others one by one.
const FREED: Duration = Duration::from_secs(6);

pub(crate) fn measure(_: &Path) -> anyhow::Result<Section> {
    let (mut first, mut later, mut restores) = (Vec::new(), Vec::new(), Vec::new());
    thread::sleep(FREED);
    let mut places = Vec::new(); // kept to the end, for the same reason
    for _ in 0..RUNS {
        let place = tempfile::tempdir()?;
        run(place.path(), &mut first, &mut later, &mut restores)?;
        places.push(place);
    }
    let p50 = |times: Vec<Duration>| Times::new(times).percentile(50);
    let figure = |what, times, limit| Figure::new(what, p50(times), Unit::Milliseconds, Goal::AtMost(limit));
    Ok(Section {
        title: "Checkpoints",
        method: "A workspace of 5,000 files of 4 KB in 200 directories, five times. The first checkpoint copies all of \
                 them, the later ones find nothing changed; then ten files are changed and restored, the checkpoint \
                 that undoes it included. The medians.",
        figures: vec![
            figure("first checkpoint of 5,000 files", first, 300.0),
            figure("checkpoint with nothing changed", later, 30.0),
            figure("restore of ten files", restores, 50.0),
        ],
    })
}

fn run(
    root: &Path,
    first: &mut Vec<Duration>,
    later: &mut Vec<Duration>,
    restores: &mut Vec<Duration>,
) -> anyhow::Result<()> {
    let work = root.join("work");
    for number in 0..FILES {
        let path = file(&work, number);
        if number % FILES_IN_DIRECTORY == 0 {
            fs::create_dir_all(path.parent().unwrap_or(&work))?;
        }
        fs::write(path, format!("{number:7}\n").repeat(FILE_BYTES / 8))?;
    }
    rustix::fs::sync(); // what was written just now is not what is measured
    let checkpoints = Checkpoints::new(work.clone(), root.join("kept"), CheckpointLimits::default());
    first.push(timed(|| checkpoints.take("first"))?.0);
    checkpoints.take("with what was written just before the first one")?;
    let mut id = None;
    for _ in 0..RUNS {
        let (elapsed, taken) = timed(|| checkpoints.take("nothing changed"))?;
        later.push(elapsed);
        id = Some(taken);
    }
    for number in 0..RESTORED {
        fs::write(file(&work, number * FILES / RESTORED), "changed")?;
    }
    checkpoints.settle()?;
    if let Some(id) = id {
        let (elapsed, done) = timed(|| checkpoints.restore(id, Overwrite::Refuse))?;
        ensure!(
            done.changes.len() == RESTORED,
            "{} files were restored",
            done.changes.len()
        );
        restores.push(elapsed);
    }
    Ok(())
}

fn file(work: &Path, number: usize) -> PathBuf {
    let directory = number / FILES_IN_DIRECTORY;
    work.join(format!(
        "part{}/module{directory}/file{number}.rs",
        directory % 10
    ))
}

fn timed<T, E>(run: impl FnOnce() -> Result<T, E>) -> Result<(Duration, T), E> {
    let begun = Instant::now();
    let done = run()?;
    Ok((begun.elapsed(), done))
}
