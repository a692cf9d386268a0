//! What the five commands do.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::history::{Before, History};
use super::problem::Problem;
use super::view::view;
use crate::file::numbered::{lines, number};
use crate::file::read::{FileError, read_text};
use crate::file::save::save;
use crate::file::text::Text;
use deft_types::{Content, EditorCommand, FileEditorAction, FileEditorObservation};

/// How many lines are shown before and behind an edit.
const CONTEXT: usize = 4;
/// How many places of an ambiguous text are listed.
const LISTED_MATCHES: usize = 20;

/// What a command shows.
pub(super) type Seen = Result<FileEditorObservation, Problem>;

/// Works on files, one command after the other.
#[derive(Debug)]
pub(crate) struct Editor {
    workspace: PathBuf,
    /// Locked for a whole edit, so that two edits of a file do not overtake each other.
    history: Mutex<History>,
}

impl Editor {
    pub(crate) fn new(workspace: PathBuf) -> Self {
        Self {
            workspace,
            history: Mutex::default(),
        }
    }

    pub(crate) fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Does what the action asks.
    pub(super) fn run(&self, action: &FileEditorAction) -> Seen {
        let path = self.checked_path(&action.path)?;
        match action.command {
            EditorCommand::View => view(&path, action.view_range.as_deref().unwrap_or_default()),
            EditorCommand::Create => {
                let text = required(action.file_text.as_deref(), "create", "file_text")?;
                self.create(&path, text)
            }
            EditorCommand::StrReplace => {
                let old = required(action.old_str.as_deref(), "str_replace", "old_str")?;
                self.replace(&path, old, action.new_str.as_deref().unwrap_or_default())
            }
            EditorCommand::Insert => {
                let line = required(action.insert_line, "insert", "insert_line")?;
                let new = required(action.new_str.as_deref(), "insert", "new_str")?;
                self.insert(&path, line, new)
            }
            EditorCommand::UndoEdit => self.undo(&path),
        }
    }

    fn checked_path(&self, given: &str) -> Result<PathBuf, Problem> {
        let path = Path::new(given);
        if path.is_absolute() {
            // Without the slash that a directory's path may end with.
            return Ok(path.components().collect());
        }
        if given.starts_with('~') {
            return Err(Problem::Tilde(given.to_owned()));
        }
        let meant = self.workspace.join(path);
        let hint = if meant.exists() {
            format!(" Do you mean {}?", meant.display())
        } else {
            String::new()
        };
        Err(Problem::Relative(given.to_owned(), hint))
    }

    fn create(&self, path: &Path, text: &str) -> Seen {
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        if path.exists() {
            return Err(Problem::Exists(path.to_owned()));
        }
        save(path, text.as_bytes()).map_err(FileError::io("write", path))?;
        history.push(canonical(path), Before::Absent);
        let note = format!("Created {}.", path.display());
        Ok(FileEditorObservation {
            prev_exist: false,
            new_content: Some(Text::of_new_file(text).into_plain()),
            ..observation(EditorCommand::Create, path, note)
        })
    }

    fn replace(&self, path: &Path, old: &str, new: &str) -> Seen {
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        let (bytes, text) = read_text(path)?;
        let (old, new) = (text.as_plain(old), text.as_plain(new));
        if old.is_empty() {
            return Err(Problem::EmptyOld);
        }
        if old == new {
            return Err(Problem::SameStrings);
        }
        // Blanks around the text are what models get wrong most often.
        let candidates = [old.as_str(), old.trim()].into_iter();
        let found = candidates
            .map(|old| (old, places(text.plain(), old)))
            .find(|(_, places)| !places.is_empty());
        let Some((old, places)) = found else {
            return Err(Problem::NoMatch {
                path: path.to_owned(),
                old,
            });
        };
        let line_of = |at: usize| memchr::memchr_iter(b'\n', &text.plain().as_bytes()[..at]).count() + 1;
        let [at] = places[..] else {
            return Err(Problem::ManyMatches {
                path: path.to_owned(),
                count: places.len(),
                lines: places
                    .iter()
                    .take(LISTED_MATCHES)
                    .map(|at| line_of(*at))
                    .collect(),
            });
        };
        let edited = text.replaced(at, at + old.len(), &new);
        let line = line_of(at);
        let shown = line.saturating_sub(CONTEXT - 1)..=line + CONTEXT + new.matches('\n').count();
        save_edit(&mut history, path, bytes, &edited)?;
        Ok(edit_seen(EditorCommand::StrReplace, path, text, edited, shown))
    }

    fn insert(&self, path: &Path, line: i64, new: &str) -> Seen {
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        let (bytes, text) = read_text(path)?;
        let plain = text.plain();
        let count = lines(plain).len();
        let index =
            usize::try_from(line)
                .ok()
                .filter(|index| *index <= count)
                .ok_or(Problem::InsertLine {
                    given: line,
                    lines: count,
                })?;
        let new = text.as_plain(new);
        let at = plain.split_inclusive('\n').take(index).map(str::len).sum();
        // A last line without its line break gets one, or the new line would be joined to it.
        let joint = if plain[..at].ends_with('\n') || at == 0 {
            ""
        } else {
            "\n"
        };
        let edited = text.replaced(at, at, &format!("{joint}{new}\n"));
        let inserted = new.matches('\n').count() + 1;
        let shown = index.saturating_sub(CONTEXT - 1)..=index + CONTEXT + inserted;
        save_edit(&mut history, path, bytes, &edited)?;
        Ok(edit_seen(EditorCommand::Insert, path, text, edited, shown))
    }

    fn undo(&self, path: &Path) -> Seen {
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, text) = read_text(path)?;
        let key = canonical(path);
        let seen = match history.last(&key) {
            None => return Err(Problem::NothingToUndo(path.to_owned())),
            Some(Before::Absent) => {
                fs::remove_file(path).map_err(FileError::io("remove", path))?;
                let note = format!("Undone: {} was new, so it is removed.", path.display());
                observation(EditorCommand::UndoEdit, path, note)
            }
            Some(Before::Bytes(before)) => {
                save(path, before).map_err(FileError::io("write", path))?;
                let restored = Text::decode(before).unwrap_or_else(|| text.clone());
                let plain = restored.plain();
                let note = format!("The last edit of {} is undone; it reads now:\n", path.display());
                FileEditorObservation {
                    new_content: Some(plain.to_owned()),
                    ..observation(EditorCommand::UndoEdit, path, note + &number(&lines(plain), 1))
                }
            }
        };
        history.forget_last(&key);
        Ok(FileEditorObservation {
            old_content: Some(text.into_plain()),
            ..seen
        })
    }
}

fn save_edit(history: &mut History, path: &Path, before: Vec<u8>, edited: &Text) -> Result<(), Problem> {
    save(path, &edited.encode()).map_err(FileError::io("write", path))?;
    history.push(canonical(path), Before::Bytes(before));
    Ok(())
}

fn edit_seen(
    command: EditorCommand,
    path: &Path,
    before: Text,
    after: Text,
    shown: std::ops::RangeInclusive<usize>,
) -> FileEditorObservation {
    let all = lines(after.plain());
    let first = (*shown.start()).clamp(1, all.len().max(1));
    let last = (*shown.end()).min(all.len());
    let snippet = number(all.get(first - 1..last).unwrap_or_default(), first);
    let note = format!(
        "Edited {}; around the change it reads now:\n{snippet}",
        path.display()
    );
    FileEditorObservation {
        old_content: Some(before.into_plain()),
        new_content: Some(after.into_plain()),
        ..observation(command, path, note)
    }
}

/// Where a part stands in a text.
fn places(text: &str, part: &str) -> Vec<usize> {
    if part.is_empty() {
        return Vec::new();
    }
    memchr::memmem::find_iter(text.as_bytes(), part).collect()
}

/// What a file is known by, whichever way a path leads to it.
fn canonical(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn required<T>(value: Option<T>, command: &'static str, parameter: &'static str) -> Result<T, Problem> {
    value.ok_or(Problem::Required { command, parameter })
}

/// An observation that says something of a file.
pub(super) fn observation(command: EditorCommand, path: &Path, text: String) -> FileEditorObservation {
    FileEditorObservation {
        content: vec![Content::text(text)],
        command,
        path: Some(path.to_string_lossy().into_owned()),
        prev_exist: true,
        ..FileEditorObservation::default()
    }
}
