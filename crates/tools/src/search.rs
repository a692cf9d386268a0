//! What `grep` and `glob` have in common: a walk over a tree by the rules of ripgrep, on its own libraries.
//!
//! Inside of a git repository what its `.gitignore` files name is left out, and everywhere what `.ignore` files name.
//! Hidden files are left out unless the pattern for file names asks for them. Links are not followed.

pub(crate) mod lines;
pub(crate) mod newest;
pub(crate) mod pattern;
pub(crate) mod walk;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ignore::DirEntry;
use tokio_util::sync::CancellationToken;

use self::newest::Newest;
use crate::ToolError;

/// How long a search may take.
pub(crate) const SEARCH_LIMIT: Duration = Duration::from_secs(30);
/// How many files are listed.
const FILE_LIMIT: usize = 100;

/// What a search found.
#[derive(Debug)]
pub(crate) struct Found {
    /// The newest files, newest first.
    pub(crate) paths: Vec<PathBuf>,
    /// How many there are in all.
    pub(crate) count: usize,
    finished: bool,
}

impl Found {
    /// Whether there are more than those listed, or may be.
    pub(crate) fn is_truncated(&self) -> bool {
        self.count > self.paths.len() || !self.finished
    }

    /// The paths as the wire has them.
    pub(crate) fn names(&self) -> Vec<String> {
        self.paths
            .iter()
            .map(|path| path.to_string_lossy().into_owned())
            .collect()
    }

    /// What the model is told, with the files as they are to be shown.
    pub(crate) fn text(&self, files: &str) -> String {
        let heading = match self.count {
            0 => "Nothing found. What .gitignore names was not looked at, nor hidden files unless asked for."
                .to_owned(),
            1 => "1 file:".to_owned(),
            2..=FILE_LIMIT => format!("{} files, newest first:", self.count),
            _ => format!("{} files; the newest {FILE_LIMIT}:", self.count),
        };
        let stopped = if self.finished {
            String::new()
        } else {
            let seconds = SEARCH_LIMIT.as_secs();
            format!("[Stopped after {seconds} seconds, so there may be more: search in a smaller directory.]")
        };
        format!("{heading}\n{files}{stopped}")
    }
}

/// Runs a search, which hands each file it finds to the function it gets.
pub(crate) async fn find(
    cancel: &CancellationToken,
    search: impl FnOnce(&CancellationToken, &(dyn Fn(&DirEntry) + Sync)) + Send + 'static,
) -> Result<Found, ToolError> {
    let newest = Arc::new(Mutex::new(Newest::default()));
    let found = Arc::clone(&newest);
    let work = move |stop: &CancellationToken| {
        search(stop, &|entry| {
            if let Some(modified) = entry.metadata().ok().and_then(|data| data.modified().ok()) {
                found
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .add(entry.path(), modified);
            }
        });
    };
    let finished = limited(cancel, SEARCH_LIMIT, work).await?.is_some();
    let newest = std::mem::take(&mut *newest.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Found {
        count: newest.seen(),
        paths: newest.into_paths(),
        finished,
    })
}

/// Runs a search on a thread for blocking work; `None` if it took too long. Whoever stops waiting has the token
/// cancelled, and the search ends at the next file.
pub(crate) async fn limited<T: Send + 'static>(
    cancel: &CancellationToken,
    limit: Duration,
    work: impl FnOnce(&CancellationToken) -> T + Send + 'static,
) -> Result<Option<T>, ToolError> {
    let stop = cancel.child_token();
    let _stopped_when_dropped = stop.clone().drop_guard();
    let search = tokio::task::spawn_blocking(move || work(&stop));
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(ToolError::Cancelled),
        done = tokio::time::timeout(limit, search) => match done {
            Ok(done) => done.map(Some).map_err(|error| ToolError::io("search the files")(error.into())),
            Err(_) => Ok(None),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_search_that_takes_too_long_is_left_and_ends() {
        let (ended, end) = std::sync::mpsc::channel();
        let endless = move |stop: &CancellationToken| {
            while !stop.is_cancelled() {
                std::thread::yield_now();
            }
            ended.send(()).unwrap();
        };
        let done = limited(&CancellationToken::new(), Duration::from_millis(1), endless).await;
        assert!(matches!(done, Ok(None)), "{done:?}");
        end.recv_timeout(Duration::from_mins(1)).unwrap();
    }
}
