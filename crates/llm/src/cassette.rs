//! Cassettes: requests and replies kept in a file, to be played back without a network.
//!
//! A cassette is JSON lines. The first says which model was recorded, each other one is an [`Exchange`].
//! Requests are kept as the rest of the system knows them, not as one provider's bytes, so that a cassette
//! outlives a change of an adapter and never holds a header with a key.

mod difference;
mod record;
mod replay;

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub(crate) use self::record::RecordModel;
pub(crate) use self::replay::ReplayModel;
use crate::{Delta, ModelError, ModelProfile, Request};

/// The version of the form below.
const VERSION: u32 = 1;

/// A larger file is not read.
const MAX_CASSETTE_BYTES: u64 = 1024 * 1024 * 1024;

/// Why a cassette cannot be used. The person names another file.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    /// The name lacks a part.
    #[error(
        "`{name}` does not say what to record: write `record:FILE:MODEL`, such as `record:run.jsonl:openai/gpt-4o`"
    )]
    Name {
        /// What was asked for.
        name: String,
    },
    /// The file cannot be opened.
    #[error("cannot use the cassette {path}: {error}. Check its name and permissions", path = path.display())]
    File {
        /// Where it is.
        path: PathBuf,
        /// What is wrong.
        error: io::Error,
    },
    /// The file is something else.
    #[error("{path}:{line} is not a line of a cassette: {reason}. Record a new one with `record:FILE:MODEL`", path = path.display())]
    Form {
        /// Where it is.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

/// The first line.
#[derive(Serialize, Deserialize)]
struct Head {
    cassette: u32,
    profile: ModelProfile,
}

/// A request, and what came of it.
#[derive(Debug, Serialize, Deserialize)]
struct Exchange {
    request: Value,
    deltas: Vec<Delta>,
    /// How the reply ended, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ModelError>,
}

impl Exchange {
    /// Adds a piece to the last one where it goes on with it: a cassette is shorter so, and a key that a model
    /// says is in one piece.
    fn add(&mut self, delta: Delta) {
        match (self.deltas.last_mut(), delta) {
            (Some(Delta::Text(last)), Delta::Text(more))
            | (Some(Delta::Reasoning(last)), Delta::Reasoning(more)) => {
                last.push_str(&more);
            }
            (
                Some(Delta::ToolCall {
                    index: last,
                    arguments,
                    ..
                }),
                Delta::ToolCall {
                    index,
                    id: None,
                    name: None,
                    arguments: more,
                    item_id: None,
                },
            ) if *last == index => arguments.push_str(&more),
            (_, delta) => self.deltas.push(delta),
        }
    }
}

/// What of a request decides the reply. The cache key is another one in each conversation and decides nothing.
fn question(request: &Request) -> Result<Value, ModelError> {
    serde_json::to_value(&*request.messages)
        .map(|messages| json!({ "messages": messages, "tools": *request.tools }))
        .map_err(|error| ModelError::BadRequest {
            detail: format!("the request could not be written as JSON: {error}"),
        })
}

fn read(path: &Path) -> Result<(Head, Vec<Exchange>), CassetteError> {
    let file_error = |error| CassetteError::File {
        path: path.to_owned(),
        error,
    };
    if std::fs::metadata(path).map_err(file_error)?.len() > MAX_CASSETTE_BYTES {
        return Err(file_error(io::ErrorKind::FileTooLarge.into()));
    }
    let text = std::fs::read_to_string(path).map_err(file_error)?;
    let form_error = |index: usize, reason: String| CassetteError::Form {
        path: path.to_owned(),
        line: index + 1,
        reason,
    };
    let mut lines = text.lines();
    let head: Head = serde_json::from_str(lines.next().unwrap_or_default())
        .map_err(|error| form_error(0, error.to_string()))?;
    if head.cassette != VERSION {
        return Err(form_error(0, format!("version {} is not known", head.cassette)));
    }
    let exchanges = lines.enumerate().map(|(index, line)| {
        serde_json::from_str(line).map_err(|error| form_error(index + 1, error.to_string()))
    });
    Ok((head, exchanges.collect::<Result<_, _>>()?))
}
