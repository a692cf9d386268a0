//! Keeps what was done in the browser: a line of JSON and a picture for each call.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deft_types::Action;
use jiff::Timestamp;
use serde_json::json;
use tokio::fs::{self, OpenOptions};
use tokio::io::AsyncWriteExt;

use super::answer::Answer;
use super::problem::Problem;
use super::session::Session;

/// Where recordings are kept, within the workspace.
const FOLDER: &str = ".deft/recordings";
/// Calls in one recording.
const MAX_EVENTS: usize = 1_000;
/// How much of an answer is kept.
const MAX_ANSWER_CHARS: usize = 2_000;

/// A recording that is going on. Its files are whole after each call, however it ends.
pub(super) struct Recording {
    directory: PathBuf,
    events: usize,
    files: usize,
}

impl Recording {
    /// Keeps a call, what came of it, and what the page looked like then.
    pub(super) async fn keep(
        &mut self,
        action: &Action,
        answer: &Answer,
        picture: Option<&str>,
    ) -> Result<(), Problem> {
        if matches!(action, Action::BrowserStartRecording(_)) {
            return Ok(());
        }
        if self.events == MAX_EVENTS {
            return Err(Problem::Recording("it is full."));
        }
        let failed = || Problem::io(format!("write to {}", self.directory.display()));
        if self.events == 0 {
            fs::create_dir_all(&self.directory).await.map_err(failed())?;
            // It is nothing to commit.
            let ignore = self.directory.with_file_name(".gitignore");
            fs::write(ignore, "*\n").await.map_err(failed())?;
            self.files += 1;
        }
        let mut event = json!({
            "at": Timestamp::now().to_string(),
            "action": without_words(action),
            "answer": answer.text.chars().take(MAX_ANSWER_CHARS).collect::<String>(),
            "is_error": answer.is_error,
        });
        if let Some(picture) = picture.and_then(|picture| STANDARD.decode(picture).ok()) {
            let name = format!("{:04}.jpg", self.events + 1);
            fs::write(self.directory.join(&name), picture)
                .await
                .map_err(failed())?;
            event["screenshot"] = json!(name);
            self.files += 1;
        }
        let path = self.directory.join("events.jsonl");
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .await
            .map_err(failed())?;
        file.write_all(format!("{event}\n").as_bytes())
            .await
            .map_err(failed())?;
        file.flush().await.map_err(failed())?;
        self.events += 1;
        Ok(())
    }
}

/// What is typed may be a password, and what is stored a key.
fn without_words(action: &Action) -> serde_json::Value {
    let mut shown = json!(action);
    for name in ["text", "storage_state"] {
        if let Some(value) = shown.get_mut(name) {
            *value = json!("<left out>");
        }
    }
    shown
}

impl Session {
    pub(super) fn start_recording(&mut self) -> Result<Answer, Problem> {
        if self.recording.is_some() {
            return Err(Problem::Recording(
                "A recording is going on already; stop it first.",
            ));
        }
        let name = Timestamp::now().strftime("%Y%m%d-%H%M%S-%f").to_string();
        let directory = self.context.workspace.join(FOLDER).join(name);
        self.recording = Some(Recording {
            directory,
            events: 0,
            files: 0,
        });
        Ok(Answer::says("Recording started"))
    }

    pub(super) fn stop_recording(&mut self) -> Result<Answer, Problem> {
        let recording = self
            .recording
            .take()
            .ok_or(Problem::Recording("No recording is going on."))?;
        let (events, files) = (recording.events, recording.files);
        if events == 0 {
            return Ok(Answer::says(
                "Recording stopped. Nothing was done, so nothing was saved.",
            ));
        }
        Ok(Answer::says(format!(
            "Recording stopped. Captured {events} events in {files} file(s). Saved to: {}",
            recording.directory.display()
        )))
    }
}
