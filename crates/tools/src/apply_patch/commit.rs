//! Writes what was planned; if that fails, takes back what was written.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::problem::Problem;
use crate::file::read::FileError;

/// One thing to do.
#[derive(Debug)]
pub(super) enum Step {
    Write {
        path: PathBuf,
        /// What is there now.
        before: Option<Vec<u8>>,
        bytes: Vec<u8>,
        /// The file whose mode it gets.
        like: Option<PathBuf>,
    },
    Remove {
        path: PathBuf,
    },
}

/// How to take back a step.
#[derive(Debug)]
enum Undo {
    Write {
        path: PathBuf,
        before: Vec<u8>,
    },
    Remove {
        path: PathBuf,
        new_directories: Vec<PathBuf>,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
}

/// Does all steps or none.
pub(super) fn commit(steps: Vec<Step>, save: fn(&Path, &[u8]) -> io::Result<()>) -> Result<(), Problem> {
    let mut done = Vec::new();
    for step in steps {
        if let Err(failure) = perform(step, save, &mut done) {
            return Err(take_back(failure, done));
        }
    }
    for undo in done {
        if let Undo::Rename { from, .. } = undo {
            let _ = fs::remove_file(from); // all is written; a file that stays behind does no harm
        }
    }
    Ok(())
}

/// What undoes the step is noted before it is tried: half of it may be done when it fails.
fn perform(
    step: Step,
    save: fn(&Path, &[u8]) -> io::Result<()>,
    done: &mut Vec<Undo>,
) -> Result<(), FileError> {
    match step {
        Step::Write {
            path,
            before,
            bytes,
            like,
        } => {
            done.push(match before {
                Some(before) => Undo::Write {
                    path: path.clone(),
                    before,
                },
                None => Undo::Remove {
                    path: path.clone(),
                    new_directories: missing_directories(&path),
                },
            });
            let copy_mode = |like: PathBuf| fs::set_permissions(&path, like.metadata()?.permissions());
            save(&path, &bytes)
                .and_then(|()| like.map_or(Ok(()), copy_mode))
                .map_err(FileError::io("write", &path))
        }
        Step::Remove { path } => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let aside = path.with_file_name(format!(".{name:.100}.{}.tmp", Uuid::new_v4().simple()));
            fs::rename(&path, &aside).map_err(FileError::io("remove", &path))?;
            done.push(Undo::Rename {
                from: aside,
                to: path,
            });
            Ok(())
        }
    }
}

fn take_back(failure: FileError, done: Vec<Undo>) -> Problem {
    let mut left = Vec::new();
    let mut new = Vec::new();
    for undo in done.into_iter().rev() {
        let (path, undone) = match undo {
            Undo::Write { path, before } => {
                let undone = crate::file::save::save(&path, &before);
                (path, undone)
            }
            Undo::Remove {
                path,
                new_directories,
            } => {
                // It may not be there yet, and of the directories those stay that something else is in by now.
                let _ = fs::remove_file(&path);
                let _ = new_directories.iter().try_for_each(fs::remove_dir);
                new.push(path);
                continue;
            }
            Undo::Rename { from, to } => {
                let undone = fs::rename(from, &to);
                (to, undone)
            }
        };
        if undone.is_err() {
            left.push(path);
        }
    }
    left.extend(new.into_iter().filter(|path| path.symlink_metadata().is_ok()));
    if left.is_empty() {
        Problem::Undone(failure)
    } else {
        Problem::Stuck { failure, left }
    }
}

/// The directories that have to be made for a file, the innermost first.
fn missing_directories(path: &Path) -> Vec<PathBuf> {
    let parents = path.ancestors().skip(1);
    parents
        .take_while(|parent| !parent.exists())
        .map(Path::to_owned)
        .collect()
}

#[cfg(test)]
mod tests;
