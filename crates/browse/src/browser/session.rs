//! The browser from call to call: started when it is needed, started again when it has ended.

use deft_tools::ToolContext;
use deft_types::Action;
use serde_json::json;

use super::BrowserOptions;
use super::answer::Answer;
use super::launch::is_root;
use super::problem::Problem;
use super::recording::Recording;
use super::running::Running;
use super::tabs::Note;

/// The browser of one workspace.
pub(super) struct Session {
    pub(super) context: ToolContext,
    options: BrowserOptions,
    running: Option<Running>,
    pub(super) recording: Option<Recording>,
    notes: Vec<Note>,
}

impl Session {
    pub(super) fn new(context: ToolContext, options: BrowserOptions) -> Self {
        Self {
            context,
            options,
            running: None,
            recording: None,
            notes: Vec::new(),
        }
    }

    /// Does what an action asks, whatever state the browser is in.
    pub(super) async fn handle(&mut self, action: &Action) -> Answer {
        let answer = self.act(action).await.unwrap_or_else(Answer::from);
        self.deliver_downloads().await;
        self.record(action, &answer).await;
        answer
    }

    async fn record(&mut self, action: &Action, answer: &Answer) {
        let Some(recording) = &mut self.recording else {
            return;
        };
        let picture = match &self.running {
            Some(running) if !answer.is_error => running.screenshot().await.ok(),
            Some(_) | None => None,
        };
        if let Err(problem) = recording.keep(action, answer, picture.as_deref()).await {
            self.notes
                .push(Note::Ours(format!("The recording has ended: {problem}")));
            self.recording = None;
        }
    }

    async fn act(&mut self, action: &Action) -> Result<Answer, Problem> {
        match action {
            Action::BrowserStartRecording(_) => return self.start_recording(),
            Action::BrowserStopRecording(_) => return self.stop_recording(),
            _ => {}
        }
        let private_dir = self.context.private_dir.clone();
        let running = self.ready().await?;
        let done = running.act(action, &private_dir).await;
        if let Err(Problem::Unresponsive(_)) = done {
            running.replace_tab().await?;
        }
        done
    }

    /// The browser with a tab that works.
    async fn ready(&mut self) -> Result<&Running, Problem> {
        if let Some(ended) = self.running.take_if(|running| running.connection.has_ended()) {
            ended.process.end().await;
            let note = "The browser had ended and was started again; its tabs and cookies are gone.";
            self.notes.push(Note::Ours(note.to_owned()));
        }
        let running = if let Some(running) = self.running.take() {
            running
        } else {
            let running = Running::start(&self.context, &self.options).await?;
            if is_root() {
                let note = "The browser runs without its own sandbox, because it runs as root.";
                self.notes.push(Note::Ours(note.to_owned()));
            }
            running
        };
        let running = self.running.insert(running);
        match running.tab() {
            Ok(tab) if !tab.crashed => {}
            Ok(_) => {
                running.replace_tab().await?;
                let note = "The page had crashed; this is an empty tab in its place.";
                self.notes.push(Note::Ours(note.to_owned()));
            }
            Err(_) => {
                running.new_tab().await?;
            }
        }
        Ok(running)
    }

    async fn deliver_downloads(&mut self) {
        let Some(running) = &self.running else { return };
        let mut ended = Vec::new();
        running.tabs.send_if_modified(|tabs| {
            ended = tabs.downloads.take_ended();
            if tabs.downloads.any_running() {
                tabs.note(Note::Ours("A download is still running.".to_owned()));
            }
            false
        });
        for download in ended {
            let (arrivals, workspace) = (running.process.arrivals.clone(), self.context.workspace.clone());
            let delivered =
                tokio::task::spawn_blocking(move || download.deliver(&arrivals, &workspace)).await;
            self.notes.extend(delivered.ok().map(Note::Ours));
        }
    }

    /// What the model should know beside the answer.
    pub(super) fn take_notes(&mut self) -> Vec<Note> {
        let mut notes = std::mem::take(&mut self.notes);
        if let Some(running) = &self.running {
            running.tabs.send_if_modified(|tabs| {
                notes.extend(tabs.take_notes());
                false
            });
        }
        notes
    }

    pub(super) async fn close(&mut self) {
        if let Some(running) = self.running.take() {
            running
                .connection
                .outbox()
                .post(None, "Browser.close", &json!({}));
            running.process.end().await;
        }
    }
}
