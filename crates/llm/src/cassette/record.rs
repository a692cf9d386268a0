//! A model whose requests and replies are kept.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde::Serialize;
use tokio::task::spawn_blocking;
use uuid::Uuid;

use super::{CassetteError, Exchange, Head, VERSION, question, read};
use crate::secrets::Secrets;
use crate::{Delta, Model, ModelError, ModelProfile, Request, TokenCount};

/// A model whose requests and replies are kept. A call that is cancelled leaves nothing.
pub(crate) struct RecordModel {
    name: String,
    inner: Arc<dyn Model>,
    /// As it was opened.
    guessed: ModelProfile,
    /// As the first reply left it: some models learn about themselves from their server.
    learned: Arc<OnceLock<ModelProfile>>,
    cassette: Arc<Cassette>,
}

/// Where it is kept.
struct Cassette {
    path: PathBuf,
    /// Held while a line is written: only the first one comes with a head.
    writing: Mutex<()>,
    /// Never written, whoever quotes them.
    secrets: Secrets,
}

impl RecordModel {
    /// Begins a cassette, or goes on with one. `name` is the whole name that the user wrote.
    pub(crate) fn open(
        name: &str,
        path: &Path,
        inner: Arc<dyn Model>,
        secrets: Secrets,
    ) -> Result<Self, CassetteError> {
        if std::fs::metadata(path).is_ok_and(|file| file.len() > 0) {
            read(path)?; // what is no cassette is left alone
        }
        let cassette = Cassette {
            path: path.to_owned(),
            writing: Mutex::new(()),
            secrets,
        };
        cassette.file().map_err(|error| CassetteError::File {
            path: path.to_owned(),
            error,
        })?;
        Ok(Self {
            name: name.to_owned(),
            guessed: renamed(inner.profile(), name),
            learned: Arc::default(),
            inner,
            cassette: Arc::new(cassette),
        })
    }
}

fn renamed(profile: &ModelProfile, name: &str) -> ModelProfile {
    ModelProfile {
        name: name.to_owned(),
        ..profile.clone()
    }
}

impl Model for RecordModel {
    fn profile(&self) -> &ModelProfile {
        self.learned.get().unwrap_or(&self.guessed)
    }

    fn count(&self, request: Request) -> BoxFuture<'static, TokenCount> {
        self.inner.count(request)
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let cassette = Arc::clone(&self.cassette);
        let inner = Arc::clone(&self.inner);
        let (name, learned) = (self.name.clone(), Arc::clone(&self.learned));
        Box::pin(async_stream::try_stream! {
            let mut exchange = Exchange { request: question(&request)?, deltas: Vec::new(), error: None };
            let mut reply = inner.stream(request);
            let mut named = HashSet::new();
            let last = loop {
                match reply.next().await {
                    None => break None,
                    Some(Err(error)) => {
                        exchange.error = Some(error.clone());
                        break Some(Err(error));
                    }
                    Some(Ok(mut delta)) => {
                        give_id(&mut delta, &mut named);
                        exchange.add(delta.clone());
                        if let Delta::Finished(_) = delta {
                            break Some(Ok(delta));
                        }
                        yield delta;
                    }
                }
            };
            // Kept before the end is told: who has seen the end finds it on the cassette.
            let path = cassette.path.clone();
            let head = Head { cassette: VERSION, profile: inner.profile().clone() };
            let _ = learned.set(renamed(&head.profile, &name));
            let kept = spawn_blocking(move || cassette.append(&head, &exchange)).await;
            kept.map_err(io::Error::other).flatten().map_err(|error| ModelError::BadRequest {
                detail: format!("the reply could not be kept in {}: {error}", path.display()),
            })?;
            if let Some(last) = last {
                yield last?;
            }
        })
    }
}

/// Where the provider gives a call no id, one is made here and kept: a played reply must have the same, or
/// the next request would differ.
fn give_id(delta: &mut Delta, named: &mut HashSet<usize>) {
    if let Delta::ToolCall { index, id, .. } = delta
        && named.insert(*index)
        && id.is_none()
    {
        *id = Some(format!("call_{}", Uuid::new_v4().simple()));
    }
}

impl Cassette {
    /// Adds an exchange, after the head where there is nothing yet. One write, so that lines of concurrent calls
    /// stay whole.
    fn append(&self, head: &Head, exchange: &Exchange) -> io::Result<()> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = self.file()?;
        let mut lines = String::new();
        if file.metadata()?.len() == 0 {
            lines.push_str(&self.line(head)?);
        }
        lines.push_str(&self.line(exchange)?);
        file.write_all(lines.as_bytes())
    }

    fn file(&self) -> io::Result<File> {
        OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&self.path)
    }

    fn line(&self, content: &impl Serialize) -> io::Result<String> {
        let mut json = serde_json::to_value(content)?;
        self.secrets.redact_json(&mut json);
        Ok(format!("{json}\n"))
    }
}
