//! What is different now from what it was, content by content.

use serde::{Deserialize, Serialize};

use super::change::Effect;
use super::objects::Objects;
use super::plan::{self, Plan, Step};
use super::tree::Entry;

/// Paths that are compared; of more only the number is told.
const MAX_COMPARED: usize = 50;
/// Of a longer content only the length is told.
const MAX_SHOWN_BYTES: usize = 256 * 1024;

/// How a workspace differs from what it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    /// The first paths that differ.
    pub paths: Vec<Difference>,
    /// How many more there are.
    pub more: usize,
}

/// A path that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The path below the workspace.
    pub path: String,
    /// What was there; none if nothing was.
    pub before: Option<String>,
    /// What is there; none if nothing is.
    pub after: Option<String>,
}

/// Compares what a plan would make equal. Directories have no content of their own.
pub(super) fn compare(objects: &Objects, plan: &Plan) -> Comparison {
    let is_directory = |side: &Option<Entry>| matches!(side, None | Some(Entry::Directory { .. }));
    let mut differing = plan
        .iter()
        .filter(|(_, step)| !(is_directory(&step.now) && is_directory(&step.then)));
    let shown = |entry: &Entry, step: &Step| shown(objects, entry, step.effect);
    let paths = differing
        .by_ref()
        .take(MAX_COMPARED)
        .map(|(path, step)| Difference {
            path: plan::readable(path),
            before: step.then.as_ref().map(|entry| shown(entry, step)),
            after: step.now.as_ref().map(|entry| shown(entry, step)),
        })
        .collect();
    Comparison {
        paths,
        more: differing.count(),
    }
}

/// The text of a file, or in words what stands there instead.
fn shown(objects: &Objects, entry: &Entry, effect: Effect) -> String {
    let bytes = match entry {
        Entry::File { hash, .. } => objects.get(*hash),
        Entry::Symlink { target } => {
            return format!("(a link to {})\n", String::from_utf8_lossy(target));
        }
        Entry::Directory { .. } => return "(a directory)\n".to_owned(),
        Entry::NotKept { .. } => None,
    };
    let size = entry.size().unwrap_or_default();
    match bytes.map(String::from_utf8) {
        Some(Ok(text)) if text.len() <= MAX_SHOWN_BYTES && !text.contains('\0') => text,
        Some(Ok(_) | Err(_)) => format!("({size} bytes that are no text or too long)\n"),
        None if matches!(effect, Effect::Leave(_)) => format!("({size} bytes of which no copy is kept)\n"),
        None => "(its copy is missing or damaged)\n".to_owned(),
    }
}
