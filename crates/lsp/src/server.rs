//! One server and the files it has open.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout, timeout_at};

use crate::connection::{Connection, Published};
use crate::error::ServerError;
use crate::language::Language;
use crate::place;

/// How long a server may take to introduce itself.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// Until then a server has told that it reads the project, if it does.
const GRACE: Duration = Duration::from_millis(300);
/// How long it may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a question waits for a server that reads the project.
const REST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a server that was asked to end may take.
const END_TIMEOUT: Duration = Duration::from_secs(1);
/// Servers publish in parts: after the last one they have been silent for so long.
const QUIET: Duration = Duration::from_millis(200);
/// Files that are open at the same time; the one that was opened first is closed for another.
const MAX_OPEN: usize = 64;
/// A larger file is not opened.
pub(crate) const MAX_TEXT_BYTES: u64 = 2_000_000;

/// A server that has introduced itself.
pub(crate) struct Server {
    connection: Connection,
    language: &'static Language,
    open: Mutex<Open>,
}

/// Files and the text that the server has of them.
#[derive(Default)]
struct Open {
    files: BTreeMap<PathBuf, Document>,
    opened: u64,
}

struct Document {
    version: i64,
    text: String,
    /// Which one it was to be opened.
    number: u64,
}

/// Whether a server had a text already, and the version that it is.
enum Told {
    Known(i64),
    New(i64),
}

impl Server {
    pub(crate) async fn start(
        language: &'static Language,
        argv: &[&str],
        root: &Path,
        env: &[(String, String)],
    ) -> Result<Self, ServerError> {
        let connection = Connection::start(argv, root, env)?;
        let root = place::uri(root);
        let params = json!({
            "processId": std::process::id(),
            "clientInfo": {"name": "deft"},
            "rootUri": root,
            "workspaceFolders": [{"uri": root, "name": "workspace"}],
            "initializationOptions": language.options.and_then(|options| serde_json::from_str::<Value>(options).ok()),
            "capabilities": {
                "general": {"positionEncodings": ["utf-16"]},
                "window": {"workDoneProgress": true},
                "workspace": {"configuration": true, "symbol": {}},
                "textDocument": {
                    "synchronization": {},
                    "publishDiagnostics": {"versionSupport": true},
                    "hover": {"contentFormat": ["plaintext", "markdown"]},
                    "definition": {"linkSupport": true},
                    "references": {},
                    "documentSymbol": {"hierarchicalDocumentSymbolSupport": true},
                },
            },
        });
        let introduced = connection.request("initialize", params, START_TIMEOUT).await;
        introduced.map_err(|error| ServerError::Start {
            program: argv.first().copied().unwrap_or_default().to_owned(),
            reason: error.to_string(),
        })?;
        connection.notify("initialized", &json!({}))?;
        let _ = timeout(GRACE, connection.work()).await; // it may have none
        Ok(Self {
            connection,
            language,
            open: Mutex::default(),
        })
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.connection.has_ended()
    }

    /// Asks when it has read the project.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Result<Value, ServerError> {
        let _ = timeout(REST_TIMEOUT, self.connection.rest()).await; // then it answers with what it knows
        self.connection.request(method, params, ANSWER_TIMEOUT).await
    }

    /// Tells it what is in a file now, and in the others that it has open. Gives the text.
    pub(crate) async fn look_at(&self, path: &Path) -> Result<String, String> {
        let text = read(path).await?;
        for other in self.opened() {
            if other != path
                && let Ok(text) = read(&other).await
            {
                self.tell(&other, &text).map_err(|error| error.to_string())?;
            }
        }
        self.tell(path, &text).map_err(|error| error.to_string())?;
        Ok(text)
    }

    /// What it finds wrong with this text, or nothing if it does not say so in time.
    pub(crate) async fn problems(
        &self,
        path: &Path,
        text: &str,
        limit: Instant,
    ) -> Result<Option<Published>, ServerError> {
        let known = self.connection.published(path);
        let is_old = |published: &Published, ours| published.version.is_some_and(|theirs| theirs < ours);
        Ok(match self.tell(path, text)? {
            Told::Known(version) if known.times > 0 && !is_old(&known, version) => Some(known),
            Told::Known(version) | Told::New(version) => {
                let is_answer =
                    |published: &Published| published.times > known.times && !is_old(published, version);
                self.published(path, is_answer, limit).await
            }
        })
    }

    /// Waits for what it publishes of a file, until it has no more to say.
    async fn published(
        &self,
        path: &Path,
        is_answer: impl Fn(&Published) -> bool,
        limit: Instant,
    ) -> Option<Published> {
        let mut last = self.connection.published(path);
        loop {
            let answered = is_answer(&last);
            let end = if answered {
                limit.min(Instant::now() + QUIET)
            } else {
                limit
            };
            let next = timeout_at(end, self.connection.next_publication()).await;
            let now = self.connection.published(path);
            if next.is_err() {
                return is_answer(&now).then_some(now);
            }
            last = now;
        }
    }

    /// Opens a file or tells what has become of it.
    fn tell(&self, path: &Path, text: &str) -> Result<Told, ServerError> {
        let uri = place::uri(path);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(document) = open.files.get_mut(path) {
            if document.text == text {
                return Ok(Told::Known(document.version));
            }
            document.version += 1;
            text.clone_into(&mut document.text);
            let version = document.version;
            self.connection.notify(
                "textDocument/didChange",
                &json!({"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]}),
            )?;
            self.connection.notify(
                "workspace/didChangeWatchedFiles",
                &json!({"changes": [{"uri": uri, "type": 2}]}),
            )?;
            return Ok(Told::New(version));
        }
        if open.files.len() >= MAX_OPEN
            && let Some(oldest) = oldest(&open.files)
        {
            open.files.remove(&oldest);
            self.connection.notify(
                "textDocument/didClose",
                &json!({"textDocument": {"uri": place::uri(&oldest)}}),
            )?;
        }
        let version = 1;
        self.connection.notify(
            "textDocument/didOpen",
            &json!({"textDocument": {
                "uri": uri,
                "languageId": self.language.id(path).unwrap_or_default(),
                "version": version,
                "text": text,
            }}),
        )?;
        open.opened += 1;
        let number = open.opened;
        open.files.insert(
            path.to_owned(),
            Document {
                version,
                text: text.to_owned(),
                number,
            },
        );
        Ok(Told::New(version))
    }

    fn opened(&self) -> Vec<PathBuf> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.files.keys().cloned().collect()
    }

    /// Asks it to end; dropping it sees to that it does.
    pub(crate) async fn end(&self) {
        let asked = self
            .connection
            .request("shutdown", Value::Null, END_TIMEOUT)
            .await;
        if asked.is_ok() {
            let _ = self.connection.notify("exit", &Value::Null); // it is ended anyway
        }
    }
}

fn oldest(files: &BTreeMap<PathBuf, Document>) -> Option<PathBuf> {
    let oldest = files.iter().min_by_key(|(_, document)| document.number);
    oldest.map(|(path, _)| path.clone())
}

/// The text of a file, if it is one that a server should have.
pub(crate) async fn read(path: &Path) -> Result<String, String> {
    let said = |error: std::io::Error| format!("{} cannot be read: {error}", path.display());
    let data = tokio::fs::metadata(path).await.map_err(said)?;
    if !data.is_file() || data.len() > MAX_TEXT_BYTES {
        return Err(format!(
            "{} is no file, or larger than {MAX_TEXT_BYTES} bytes",
            path.display()
        ));
    }
    tokio::fs::read_to_string(path).await.map_err(said)
}
