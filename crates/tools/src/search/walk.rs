//! A walk over the files of a tree, on all cores.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ignore::{DirEntry, WalkState};
use tokio_util::sync::CancellationToken;

use super::pattern::FilePattern;
use crate::careful_walk;

/// After how many entries a thread looks whether it is to stop: asking costs as much as an entry.
const LOOK_UP_EVERY: usize = 32;

/// Shows every file that fits to a visitor; each thread has one of its own. What cannot be read is passed over.
pub(crate) fn walk<V: FnMut(&DirEntry) + Send>(
    root: &Path,
    pattern: Option<&FilePattern>,
    stop: &CancellationToken,
    visitor: impl Fn() -> V,
) {
    // What is dropped here is not handed from thread to thread.
    let is_wanted = {
        let (pattern, root) = (pattern.cloned(), root.to_owned());
        move |entry: &DirEntry| match (&pattern, entry.file_type()) {
            (None, _) => true,
            (Some(pattern), Some(kind)) if kind.is_dir() => {
                pattern.asks_for_git || entry.file_name() != ".git"
            }
            (Some(pattern), _) => pattern.fits(beneath(&root, entry.path())),
        }
    };
    let mut builder = careful_walk(root, is_wanted);
    builder.hidden(pattern.is_none_or(|pattern| !pattern.asks_for_hidden));
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
