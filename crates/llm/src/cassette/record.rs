//! A model whose requests and replies are kept.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use deft_types::Secret;
use futures::StreamExt;
use futures::stream::BoxStream;
use serde::Serialize;
use tokio::task::spawn_blocking;
use uuid::Uuid;

use super::{CassetteError, Exchange, Head, VERSION, question, read};
use crate::{Delta, Model, ModelError, ModelProfile, Request};

/// A model whose requests and replies are kept. A call that is cancelled leaves nothing.
pub(crate) struct RecordModel {
    inner: Arc<dyn Model>,
    profile: ModelProfile,
    cassette: Arc<Cassette>,
}

/// Where it is kept.
struct Cassette {
    path: PathBuf,
    /// Never written, whoever quotes them.
    secrets: Vec<Secret<String>>,
}

impl RecordModel {
    /// Begins a cassette, or goes on with one. `name` is the whole name that the user wrote.
    pub(crate) fn open(
        name: &str,
        path: &Path,
        inner: Arc<dyn Model>,
        secrets: Vec<Secret<String>>,
    ) -> Result<Self, CassetteError> {
        let cassette = Cassette {
            path: path.to_owned(),
            secrets,
        };
        let profile = inner.profile();
        if std::fs::metadata(path).is_ok_and(|file| file.len() > 0) {
            read(path)?; // what is no cassette is left alone
        } else {
            let head = Head {
                cassette: VERSION,
                profile: profile.clone(),
            };
            cassette.append(&head).map_err(|error| CassetteError::File {
                path: path.to_owned(),
                error,
            })?;
        }
        Ok(Self {
            profile: ModelProfile {
                name: name.to_owned(),
                ..profile.clone()
            },
            inner,
            cassette: Arc::new(cassette),
        })
    }
}

impl Model for RecordModel {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let cassette = Arc::clone(&self.cassette);
        let inner = Arc::clone(&self.inner);
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
            let kept = spawn_blocking(move || cassette.append(&exchange)).await;
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
    /// One write a line, so that lines of concurrent calls stay whole.
    fn append(&self, line: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_string(line)?;
        for secret in &self.secrets {
            line = line.replace(secret.expose(), "**********");
        }
        line.push('\n');
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        file.write_all(line.as_bytes())
    }
}
