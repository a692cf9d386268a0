//! A walk over the files of a tree, on all cores.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ignore::{DirEntry, WalkBuilder, WalkState};
use tokio_util::sync::CancellationToken;

use super::pattern::FilePattern;

/// After how many entries a thread looks whether it is to stop: asking costs as much as an entry.
const LOOK_UP_EVERY: usize = 32;

/// Shows every file that fits to a visitor; each thread has one of its own. What cannot be read is passed over.
pub(crate) fn walk<V: FnMut(&DirEntry) + Send>(
    root: &Path,
    pattern: Option<&FilePattern>,
    stop: &CancellationToken,
    visitor: impl Fn() -> V,
) {
    let mut builder = WalkBuilder::new(root);
    if let Some(pattern) = pattern {
        builder.hidden(!pattern.asks_for_hidden);
        let (pattern, root) = (pattern.clone(), root.to_owned());
        // What is dropped here is not handed from thread to thread.
        builder.filter_entry(move |entry| match entry.file_type() {
            Some(kind) if kind.is_dir() => pattern.asks_for_git || entry.file_name() != ".git",
            _ => pattern.fits(beneath(&root, entry.path())),
        });
    }
    builder.build_parallel().run(|| {
        let mut visit = visitor();
        let mut seen: usize = 0;
        Box::new(move |entry| {
            if seen.is_multiple_of(LOOK_UP_EVERY) && stop.is_cancelled() {
                return WalkState::Quit;
            }
            seen += 1;
            if let Ok(entry) = entry
                && entry.file_type().is_some_and(|kind| kind.is_file())
                && pattern.is_none_or(|pattern| pattern.fits(beneath(root, entry.path())))
            {
                visit(&entry);
            }
            WalkState::Continue
        })
    });
}

/// The rest of a path that the walk has put together from its root. `strip_prefix` would compare it part by part.
fn beneath<'a>(root: &Path, path: &'a Path) -> &'a Path {
    let rest = path.as_os_str().as_bytes().get(root.as_os_str().len()..);
    let rest = rest.unwrap_or_default();
    Path::new(OsStr::from_bytes(rest.strip_prefix(b"/").unwrap_or(rest)))
}
