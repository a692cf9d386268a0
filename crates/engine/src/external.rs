//! An agent that is a program of its own: what it is started with, and what it is told.

use std::time::Duration;

use deft_acp::{About, AgentError, Session, Start};
use deft_executor::{Client, OwnFolder, Program, ProgramEnding, SecretFile};
use deft_tools::{SecretSet, Secrets};
use deft_types::{Content, Message, Role};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::view::Entry;

/// The field of its state that names the message it is at work on.
pub(crate) const IN_FLIGHT: &str = "acp_inflight_prompt_user_message_id";
/// How long is waited for the last words of an agent that has ended.
const OBITUARY_LIMIT: Duration = Duration::from_secs(1);
/// Characters of an earlier conversation that a new session is told, of all of it and of one message.
const MAX_HISTORY: usize = 60_000;
const MAX_MESSAGE: usize = 8_000;

/// A coding agent that speaks the Agent Client Protocol, to be started in the workspace.
#[derive(Clone)]
pub struct ExternalAgent {
    /// The program and its arguments, exactly.
    pub command: Vec<String>,
    /// The mode its sessions are to be in.
    pub mode: Option<String>,
    /// The model it is to use.
    pub model: Option<String>,
    /// A session of its own to take up, where the conversation has none yet.
    pub resume: Option<String>,
    /// MCP servers that it is to use, in the protocol's form.
    pub servers: Vec<Value>,
    /// Secrets that it has as files.
    pub files: Vec<SecretFile>,
    /// A folder of its own for what it keeps.
    pub own_folder: Option<OwnFolder>,
    /// How long it may be silent during a turn.
    pub silence_limit: Duration,
    /// How long its start may take.
    pub start_limit: Duration,
}

/// The program and the session with it. Dropping it ends the program.
pub(crate) struct Running {
    pub(crate) session: Session,
    ending: ProgramEnding,
}

impl ExternalAgent {
    /// Starts it in a workspace, hears what it says of itself, and ends it. The sentence of a failure says why.
    pub async fn look(
        &self,
        client: &Client,
        directory: String,
        secrets: SecretSet,
    ) -> Result<About, String> {
        client.set_secrets(secrets.clone()).await;
        let running = self.begin(client, directory, secrets).await?;
        Ok(running.session.about().clone())
    }

    /// Starts it in the workspace of an executor that has the same secrets.
    pub(crate) async fn begin(
        &self,
        client: &Client,
        directory: String,
        secrets: SecretSet,
    ) -> Result<Running, String> {
        let start = Start {
            directory,
            servers: self.servers.clone(),
            resume: self.resume.clone(),
            mode: self.mode.clone(),
            model: self.model.clone(),
            limit: self.start_limit,
        };
        let program = Program {
            command: self.command.clone(),
            files: self.files.clone(),
            own_folder: self.own_folder.clone(),
        };
        let started = client.start_program(program).await;
        let (stream, ending) = started.map_err(|error| format!("{error}."))?;
        let hidden = Secrets::default();
        hidden.set(secrets);
        let mask = hidden.mask();
        let clean = Box::new(move |message: &mut Value| mask.hide_in(message));
        match Session::begin(stream, clean, start).await {
            Ok(session) => Ok(Running { session, ending }),
            Err(error) => Err(obituary(&error, ending).await),
        }
    }
}

impl Running {
    /// Why there is nothing more to hear of the agent, with what its program said last.
    pub(crate) async fn obituary(self, error: &AgentError) -> String {
        drop(self.session);
        obituary(error, self.ending).await
    }
}

async fn obituary(error: &AgentError, ending: ProgramEnding) -> String {
    let ended = timeout(OBITUARY_LIMIT, ending.known()).await.ok().flatten();
    let status = ended.as_ref().and_then(|end| end.status.as_ref());
    let status = status.map_or_else(String::new, |status| format!(" Its process ended ({status})."));
    let words = ended
        .as_ref()
        .map(|end| end.last_words.trim())
        .filter(|words| !words.is_empty());
    let words = words.map_or_else(String::new, |words| format!(" Its last words: {words}."));
    format!("{error}.{status}{words}")
}

/// A message in the protocol's form.
pub(crate) fn content(message: &Message, reads_images: bool) -> Vec<Value> {
    let text = |text: &str| json!({"type": "text", "text": text});
    let image = |url: &String| match data(url).filter(|_| reads_images) {
        Some((kind, data)) => json!({"type": "image", "mimeType": kind, "data": data}),
        None => text("[An image that cannot be passed on to this agent was left out.]"),
    };
    let parts = message.content.iter().flat_map(|part| match part {
        Content::Text(part) => vec![text(&part.text)],
        Content::Image(images) => images.image_urls.iter().map(image).collect(),
    });
    parts.collect()
}

/// What a `data:` URL carries, and of which kind it is.
fn data(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    Some((head.strip_suffix(";base64")?, data))
}

/// What was said before, for a session that knows nothing of it; the latest of it where that is too long.
pub(crate) fn history(entries: &[Entry]) -> Option<String> {
    let mut told = Vec::new();
    let mut room = MAX_HISTORY;
    for entry in entries.iter().rev() {
        let who = match entry.message.role {
            Role::User => "User",
            Role::Assistant => "Agent",
            // What its turn ended with; the rest is about questions of its own.
            Role::Tool if entry.message.name.as_deref() == Some("finish") => "Agent",
            Role::Tool | Role::System => continue,
        };
        let text = entry.message.plain_text();
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        let cut: String = text.chars().take(MAX_MESSAGE).collect();
        let line = format!("{who}: {cut}");
        if line.chars().count() > room {
            break;
        }
        room -= line.chars().count();
        told.push(line);
    }
    told.reverse();
    (!told.is_empty()).then(|| {
        format!(
            "This conversation began in another session, which you do not know. What was said there, to be taken as \
             background:\n\n{}\n\nWhat follows is new.",
            told.join("\n\n")
        )
    })
}

/// Said to an agent whose turn was cut off and which is to go on.
pub(crate) fn go_on(why: Option<&str>) -> Message {
    let why = why.map_or_else(String::new, |why| format!(" {}.", why.trim_end_matches('.')));
    Message::text(
        Role::User,
        format!(
            "Your last turn was cut off before its end.{why} Look at what is there, and go on with the task."
        ),
    )
}

#[cfg(test)]
mod tests {
    use deft_types::ImageContent;

    use super::*;

    #[test]
    fn images_go_to_agents_that_can_look_at_them() {
        let images = ImageContent {
            image_urls: vec![
                "data:image/png;base64,AAAA".to_owned(),
                "https://x/y.png".to_owned(),
            ],
            ..ImageContent::default()
        };
        let message = Message::new(Role::User, vec![Content::text("look"), Content::Image(images)]);
        let sent = content(&message, true);
        assert_eq!(sent[0], json!({"type": "text", "text": "look"}));
        assert_eq!(
            sent[1],
            json!({"type": "image", "mimeType": "image/png", "data": "AAAA"})
        );
        assert_eq!(sent[2]["type"], "text");
        assert_eq!(content(&message, false)[1]["type"], "text");
    }
}
