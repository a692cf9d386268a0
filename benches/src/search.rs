//! What it costs to search a large tree, beside ripgrep itself.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use deft_tools::{Call, Glob, Grep, Tool};
use deft_types::{Action, GlobAction, GrepAction};
use tokio::runtime::Runtime;

use crate::place::{Place, runtime};
use crate::report::{Figure, Goal, Section, Unit};
use crate::times::Times;

/// Directories with so many files in each.
const DIRECTORIES: usize = 500;
const FILES_IN_EACH: usize = 100;
/// Rounds, of which the first only warms up. Ours and ripgrep take turns, so that a busy machine slows both.
const ROUNDS: usize = 15;

/// One search, as both are asked for it.
struct Search {
    tool: Box<dyn Tool>,
    action: Action,
    rg: &'static [&'static str],
    what: &'static str,
    compared: &'static str,
}

pub(crate) fn measure(_: &Path) -> anyhow::Result<Section> {
    let place = Place::new()?;
    let tree = place.work();
    plant(&tree)?;
    let runtime = runtime()?;
    let has_rg = Command::new("rg").arg("--version").output().is_ok();
    if !has_rg {
        println!("rg is not installed, so nothing is compared with it (apt-get install ripgrep)");
    }
    let grep = |pattern: &str| GrepAction {
        pattern: pattern.to_owned(),
        ..GrepAction::default()
    };
    let glob = |pattern: &str| GlobAction {
        pattern: pattern.to_owned(),
        ..GlobAction::default()
    };
    let searches = [
        Search {
            tool: Box::new(Grep::new(tree.clone())),
            action: grep("needle_[0-9]+").into(),
            rg: &["-l", "-i", "needle_[0-9]+"],
            what: "`grep` over 50,000 files, a match in 1 of 100",
            compared: "the same beside `rg`",
        },
        Search {
            tool: Box::new(Grep::new(tree.clone())),
            action: grep("not there").into(),
            rg: &["-l", "-i", "not there"],
            what: "`grep` over 50,000 files, no match",
            compared: "the same beside `rg`",
        },
        Search {
            tool: Box::new(Glob::new(tree.clone())),
            action: glob("**/*77.rs").into(),
            rg: &["--files", "-g", "**/*77.rs"],
            what: "`glob` over 50,000 files, 1 of 100 fits",
            compared: "the same beside `rg --files`",
        },
        Search {
            tool: Box::new(Glob::new(tree.clone())),
            action: glob("**/*.rs").into(),
            rg: &["--files", "-g", "**/*.rs", "--sortr=modified"],
            what: "`glob` over 50,000 files, all fit",
            compared: "the same beside `rg --files --sortr=modified`",
        },
    ];
    let mut figures = Vec::new();
    for search in searches {
        let (ours, theirs) = compare(&runtime, &tree, &search, has_rg)?;
        figures.push(Figure::new(search.what, ours, Unit::Milliseconds, Goal::None));
        if let Some(theirs) = theirs {
            figures.push(Figure::new(
                search.compared,
                ours / theirs,
                Unit::Times,
                Goal::AtMost(1.2),
            ));
        }
    }
    Ok(Section {
        title: "Search",
        method: "50,000 files of 1 to 4 KB in 500 directories of a git repository with a `.gitignore`. The tools run in \
                 this process as in an executor; `rg` from spawning it until it has ended. Ours look up the age of what \
                 they find; `rg` does not but where it says so. They take turns; the median of fourteen.",
        figures,
    })
}

/// The medians of ours and of ripgrep, in milliseconds.
fn compare(
    runtime: &Runtime,
    tree: &Path,
    search: &Search,
    has_rg: bool,
) -> anyhow::Result<(f64, Option<f64>)> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let begun = Instant::now();
        let seen = runtime.block_on(search.tool.run(Call::of(search.action.clone())))?;
        let our_time = begun.elapsed();
        if seen.is_error() {
            bail!("the search failed: {seen:?}");
        }
        let their_time = if has_rg {
            ripgrep(tree, search.rg)?
        } else {
            Duration::ZERO
        };
        if round > 0 {
            ours.push(our_time);
            theirs.push(their_time);
        }
    }
    let median = |times| Times::new(times).percentile(50);
    Ok((median(ours), has_rg.then(|| median(theirs))))
}

fn ripgrep(tree: &Path, arguments: &[&str]) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let status = Command::new("rg")
        .args(arguments)
        .arg(tree)
        .stdout(Stdio::null())
        .status()
        .context("cannot run rg")?;
    let elapsed = begun.elapsed();
    // 1 says that nothing was found.
    if !matches!(status.code(), Some(0 | 1)) {
        bail!("rg ended with {status}");
    }
    Ok(elapsed)
}

fn plant(tree: &Path) -> anyhow::Result<()> {
    fs::create_dir(tree.join(".git"))?;
    fs::write(tree.join(".gitignore"), "target/\n*.o\n/build\nnode_modules/\n")?;
    for number in 0..DIRECTORIES {
        let directory = tree.join(format!("part{}/module{number}", number % 20));
        fs::create_dir_all(&directory)?;
        for file in 0..FILES_IN_EACH {
            let mut text =
                "    let value = compute(&input, options.clone())?; // as before\n".repeat(16 + file % 48);
            if file == 50 {
                writeln!(text, "const NEEDLE_{number}: usize = {file};")?;
            }
            fs::write(directory.join(format!("file{file}.rs")), text)?;
        }
    }
    Ok(())
}
