//! Which repositories are being brought here, and how far they are.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::failure::Failure;

/// How many are under way at once, and how many are remembered.
const MAX_RUNNING: usize = 4;
const MAX_REMEMBERED: usize = 64;
/// The most that is shown of a line.
const MAX_LINE: usize = 200;

/// All of a user's, the oldest first.
#[derive(Default)]
pub(crate) struct Clonings(Mutex<VecDeque<Arc<Cloning>>>);

/// One of them.
pub(crate) struct Cloning {
    pub(crate) id: Uuid,
    folder: String,
    progress: Mutex<Progress>,
    pub(crate) stop: CancellationToken,
}

enum Progress {
    /// The last line that git wrote.
    Running(String),
    Done,
    /// Why.
    Failed(String),
}

impl Clonings {
    /// Refuses another one where there are too many.
    pub(crate) fn check_room(&self) -> Result<(), Failure> {
        if self.all().iter().filter(|known| known.is_running()).count() < MAX_RUNNING {
            return Ok(());
        }
        let sentence = format!("{MAX_RUNNING} repositories are being fetched already; wait for one of them");
        Err(Failure::new(StatusCode::TOO_MANY_REQUESTS, sentence))
    }

    /// Remembers a new one. Ask first whether there is room.
    pub(crate) fn begin(&self, folder: String) -> Arc<Cloning> {
        let mut all = self.all();
        let cloning = Arc::new(Cloning {
            id: Uuid::new_v4(),
            folder,
            progress: Mutex::new(Progress::Running(String::new())),
            stop: CancellationToken::new(),
        });
        all.push_back(Arc::clone(&cloning));
        if all.len() > MAX_REMEMBERED
            && let Some(oldest) = all.iter().position(|known| !known.is_running())
        {
            all.remove(oldest);
        }
        cloning
    }

    pub(crate) fn find(&self, id: &str) -> Result<Arc<Cloning>, Failure> {
        let id: Option<Uuid> = id.parse().ok();
        let all = self.all();
        let found = all.iter().find(|known| Some(known.id) == id);
        found.cloned().ok_or_else(Failure::not_found)
    }

    fn all(&self) -> MutexGuard<'_, VecDeque<Arc<Cloning>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cloning {
    fn is_running(&self) -> bool {
        matches!(*self.progress(), Progress::Running(_))
    }

    /// Takes note of what git writes about its progress: lines, which overwrite each other.
    pub(crate) fn hear(&self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.split(['\r', '\n']).map(str::trim);
        if let Some(line) = lines.rfind(|line| !line.is_empty()) {
            let shown = line.chars().filter(|c| !c.is_control()).take(MAX_LINE);
            *self.progress() = Progress::Running(shown.collect());
        }
    }

    pub(crate) fn end(&self, ended: Result<(), Failure>) {
        *self.progress() = match ended {
            Ok(()) => Progress::Done,
            Err(failure) => Progress::Failed(failure.detail()),
        };
    }

    /// As clients see it.
    pub(crate) fn shown(&self) -> Value {
        let (state, text) = match &*self.progress() {
            Progress::Running(line) => ("running", line.clone()),
            Progress::Done => ("done", String::new()),
            Progress::Failed(reason) => ("failed", reason.clone()),
        };
        json!({"id": self.id, "folder": self.folder, "state": state, "text": text})
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_progress_is_shown_and_the_reason_in_the_end() {
        let all = Clonings::default();
        let cloning = all.begin("/r/a".to_owned());
        cloning.hear(b"Receiving objects:  10% (1/10)\rReceiving objects:  20% (2/10)\r");
        assert_eq!(cloning.shown()["text"], "Receiving objects:  20% (2/10)");
        cloning.hear(b"\r\n");
        assert_eq!(cloning.shown()["state"], "running");
        cloning.end(Err(Failure::refused("no")));
        let found = all.find(&cloning.id.to_string()).unwrap().shown();
        assert_eq!(
            (&found["state"], &found["text"]),
            (&json!("failed"), &json!("no"))
        );
    }

    #[test]
    fn only_a_few_run_at_once_and_the_oldest_are_forgotten() {
        let all = Clonings::default();
        let first = all.begin(String::new());
        for _ in 1..MAX_RUNNING {
            all.begin(String::new());
        }
        assert!(all.check_room().is_err());
        first.end(Ok(()));
        assert!(all.check_room().is_ok());
        for _ in 0..MAX_REMEMBERED {
            all.begin(String::new()).end(Ok(()));
        }
        assert!(all.find(&first.id.to_string()).is_err());
    }
}
