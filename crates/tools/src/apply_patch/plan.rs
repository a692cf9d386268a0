//! Checks a patch against the files, and computes everything that is to be written.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::commit::Step;
use super::hunk;
use super::parse::{Change, FilePatch, Hunk};
use super::problem::Problem;
use crate::file::read::{FileError, read_text};
use crate::file::resolve::resolve;
use crate::file::text::Text;

/// How many files a patch may change: all are in memory at once.
const PATCHED_FILES: usize = 200;

/// What a patch will do.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// In the order in which it is done.
    pub(super) steps: Vec<Step>,
    /// By the path that the patch gives.
    pub(super) changed: Vec<(String, Changed)>,
    pub(super) fuzz: i64,
}

/// What becomes of a file.
#[derive(Debug)]
pub(super) enum Changed {
    Added {
        old: Option<String>,
        new: String,
    },
    Deleted {
        old: String,
    },
    /// The path is empty if it stays where it is.
    Updated {
        old: String,
        new: String,
        move_path: String,
    },
}

/// Where a path of a patch leads.
struct Place {
    /// Its own name, in a directory without links.
    name: PathBuf,
    /// The file that it stands for, which is another one if it is a link.
    file: PathBuf,
}

/// Plans a patch, and changes nothing.
pub(super) fn plan(workspace: &Path, files: Vec<FilePatch>) -> Result<Plan, Problem> {
    if files.len() > PATCHED_FILES {
        return Err(Problem::TooManyFiles(PATCHED_FILES));
    }
    let root = workspace
        .canonicalize()
        .map_err(FileError::io("find", workspace))?;
    let mut planner = Planner {
        root,
        taken: HashSet::new(),
        plan: Plan::default(),
    };
    for file in files {
        planner.add(file)?;
    }
    Ok(planner.plan)
}

struct Planner {
    root: PathBuf,
    taken: HashSet<PathBuf>,
    plan: Plan,
}

impl Planner {
    fn add(&mut self, file: FilePatch) -> Result<(), Problem> {
        let place = self.place(&file.path)?;
        let changed = match file.change {
            Change::Add(content) => self.write_new(place, &content)?,
            Change::Delete => {
                let (_, text) = read_text(&place.file)?;
                self.plan.steps.push(Step::Remove { path: place.name });
                Changed::Deleted {
                    old: text.into_plain(),
                }
            }
            Change::Update { move_to, hunks } => self.update(&file.path, place, move_to, &hunks)?,
        };
        self.plan.changed.push((file.path, changed));
        Ok(())
    }

    fn write_new(&mut self, place: Place, content: &str) -> Result<Changed, Problem> {
        let (before, old, new) = match read_text(&place.file) {
            Ok((bytes, old)) => {
                let new = old.rewritten(content);
                (Some(bytes), Some(old.into_plain()), new)
            }
            Err(FileError::Missing(_)) => (None, None, Text::of_new_file(content)),
            Err(problem) => return Err(problem.into()),
        };
        let step = Step::Write {
            path: place.file,
            before,
            bytes: new.encode().into_owned(),
            like: None,
        };
        self.plan.steps.push(step);
        Ok(Changed::Added {
            old,
            new: new.into_plain(),
        })
    }

    fn update(
        &mut self,
        path: &str,
        place: Place,
        move_to: Option<String>,
        hunks: &[Hunk],
    ) -> Result<Changed, Problem> {
        let (bytes, text) = read_text(&place.file)?;
        let (new, fuzz) = hunk::apply(path, &text, hunks)?;
        self.plan.fuzz += fuzz;
        let (target, before, like) = match &move_to {
            None => (place.file, Some(bytes), None),
            Some(move_to) => {
                let target = self.place(move_to)?;
                if target.name.symlink_metadata().is_ok() {
                    return Err(Problem::Exists(move_to.clone()));
                }
                (target.file, None, Some(place.file))
            }
        };
        self.plan.steps.push(Step::Write {
            path: target,
            before,
            bytes: new.encode().into_owned(),
            like,
        });
        if move_to.is_some() {
            self.plan.steps.push(Step::Remove { path: place.name });
        }
        Ok(Changed::Updated {
            old: text.into_plain(),
            new: new.into_plain(),
            move_path: move_to.unwrap_or_default(),
        })
    }

    /// Follows a path, which must stay in the workspace and be the only one that leads there.
    fn place(&mut self, given: &str) -> Result<Place, Problem> {
        let path = self.root.join(given);
        let outside = || Problem::Outside(given.to_owned());
        let file = resolve(&path).map_err(FileError::io("find", &path))?;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(outside());
        };
        let name = resolve(parent).map_err(FileError::io("find", parent))?.join(name);
        if !(file.starts_with(&self.root) && name.starts_with(&self.root)) {
            return Err(outside());
        }
        if !self.taken.insert(file.clone()) {
            return Err(Problem::Twice(given.to_owned()));
        }
        Ok(Place { name, file })
    }
}
