//! A walk over the files of a tree, on all cores.

use std::path::Path;

use ignore::{DirEntry, WalkBuilder, WalkState};
use tokio_util::sync::CancellationToken;

use super::pattern::FilePattern;

/// Shows every file that fits to a visitor; each thread has one of its own. What cannot be read is passed over.
pub(crate) fn walk<V: FnMut(&DirEntry) + Send>(
    root: &Path,
    pattern: Option<&FilePattern>,
    stop: &CancellationToken,
    visitor: impl Fn() -> V,
) {
    let mut builder = WalkBuilder::new(root);
    if pattern.is_some_and(|pattern| pattern.asks_for_hidden) {
        builder.hidden(false);
        if pattern.is_some_and(|pattern| !pattern.asks_for_git) {
            builder.filter_entry(|entry| entry.file_name() != ".git");
        }
    }
    builder.build_parallel().run(|| {
        let mut visit = visitor();
        Box::new(move |entry| {
            if stop.is_cancelled() {
                return WalkState::Quit;
            }
            if let Ok(entry) = entry
                && entry.file_type().is_some_and(|kind| kind.is_file())
                && pattern.is_none_or(|pattern| {
                    pattern.fits(entry.path().strip_prefix(root).unwrap_or(entry.path()))
                })
            {
                visit(&entry);
            }
            WalkState::Continue
        })
    });
}
