//! The protocol: length-prefixed frames over any byte stream. A frame is JSON, or data of a stream: a zero byte,
//! the id of the stream and the bytes.
//!
//! A call's id is the id of the action event that asks for it. Calls are idempotent by that id: a repeated
//! `call` joins the running one or answers with its result. A result is kept until it is acknowledged.

use std::io;

use bytes::{BufMut, Bytes, BytesMut};
use deft_tools::SecretSet;
use deft_types::{Action, ActionId, McpApprovals, McpServerStatus, Observation, ToolSpec};
use futures::{Sink, SinkExt, Stream, StreamExt};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::codec::{FramedRead, FramedWrite, LengthDelimitedCodec};
use uuid::Uuid;

use crate::checkpoints::{CheckpointReply, CheckpointRequest};
use crate::request_error::RequestError;
use crate::stream::Signal;
use crate::work::Work;

/// Both ends must speak the same version.
pub const PROTOCOL_VERSION: u32 = 9;

/// A longer frame ends the connection: nothing we send comes near it.
pub const MAX_FRAME_BYTES: usize = 64 * 1024 * 1024;

/// What a client says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Request {
    /// The first frame.
    Hello {
        /// The client's [`PROTOCOL_VERSION`].
        version: u32,
    },
    /// Run a tool, or join the run of the same id.
    Call {
        /// The action event's id.
        id: ActionId,
        /// The tool.
        tool: String,
        /// What it is to do.
        action: Box<Action>,
        /// Milliseconds after which the call is cancelled.
        deadline_ms: Option<u64>,
    },
    /// Join the run of this id, but never start one.
    Collect {
        /// The action event's id.
        id: ActionId,
    },
    /// The result is stored; forget it.
    Ack {
        /// The action event's id.
        id: ActionId,
    },
    /// Stop a call. It still answers with a result.
    Cancel {
        /// The action event's id.
        id: ActionId,
    },
    /// Use these secrets, and no others, from now on.
    SetSecrets {
        /// All of them.
        #[serde(with = "wire_secrets")]
        secrets: SecretSet,
    },
    /// Start the MCP servers of a configuration, or tell how they are doing.
    StartMcp {
        /// Repeated in the answer.
        id: Uuid,
        /// The servers by name, as people write them.
        config: Value,
        /// What was approved of them.
        approvals: McpApprovals,
    },
    /// Something about checkpoints.
    Checkpoints {
        /// The client's name for this question.
        id: Uuid,
        /// What.
        request: CheckpointRequest,
    },
    /// Do something with files, git, plain commands, ports or programs.
    Work {
        /// Repeated in the answer, and the id of the stream that belongs to it.
        id: Uuid,
        /// What.
        work: Work,
    },
    /// About the stream of a piece of work.
    Stream {
        /// The stream.
        id: Uuid,
        /// What.
        signal: Signal,
    },
    /// Bytes for a piece of work.
    #[serde(skip)]
    Data {
        /// The stream.
        id: Uuid,
        /// The bytes.
        bytes: Bytes,
    },
    /// End the executor and everything it started.
    Shutdown,
}

/// What an executor says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Reply {
    /// The first frame.
    Hello(Box<Hello>),
    /// A piece of a call's output, while it runs. May be left out when the reader is slow.
    Output {
        /// The call.
        id: ActionId,
        /// The piece.
        chunk: String,
    },
    /// A call ended.
    Result {
        /// The call.
        id: ActionId,
        /// How.
        outcome: Outcome,
    },
    /// The answer to `start_mcp`: each server is ready or has failed.
    McpServers {
        /// The request.
        id: Uuid,
        /// How the servers are doing, or why none could be started.
        servers: Result<Vec<McpServerStatus>, String>,
    },
    /// MCP servers have started, or are doing otherwise than was told last.
    McpChanged {
        /// All of them.
        servers: Vec<McpServerStatus>,
    },
    /// A piece of work has ended, and with it its stream.
    Done {
        /// The request.
        id: Uuid,
        /// What it was asked for, in a form that depends on the request.
        answer: Result<Value, RequestError>,
    },
    /// About the stream of a piece of work.
    Stream {
        /// The stream.
        id: Uuid,
        /// What.
        signal: Signal,
    },
    /// Bytes from a piece of work.
    #[serde(skip)]
    Data {
        /// The stream.
        id: Uuid,
        /// The bytes.
        bytes: Bytes,
    },
    /// The answer to `collect` for a call that was never made here.
    Unknown {
        /// The call.
        id: ActionId,
    },
    /// The answer to `checkpoints`.
    Checkpoints {
        /// The client's name for the question.
        id: Uuid,
        /// What happened.
        reply: CheckpointReply,
    },
}

/// An executor's introduction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// The executor's [`PROTOCOL_VERSION`].
    pub version: u32,
    /// New for each process: an executor with another instance knows nothing of earlier calls.
    pub instance: Uuid,
    /// Such as `linux`.
    pub os: String,
    /// Such as `x86_64`.
    pub arch: String,
    /// The directory that tools work in.
    pub workspace: String,
    /// The tools it has.
    pub tools: Vec<ToolSpec>,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Outcome {
    /// The tool answered.
    Observed {
        /// The answer.
        observation: Box<Observation>,
    },
    /// The tool could not.
    Failed {
        /// Why, in words for the model.
        message: String,
    },
}

/// Secrets in clear: the stream to an executor is the one place they belong to.
mod wire_secrets {
    use std::collections::BTreeMap;

    use deft_tools::SecretSet;
    use deft_types::Secret;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(secrets: &SecretSet, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(secrets.iter().map(|(name, value)| (name, value.expose())))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SecretSet, D::Error> {
        let secrets = BTreeMap::<String, Secret<String>>::deserialize(deserializer)?;
        SecretSet::new(secrets).map_err(D::Error::custom)
    }
}

/// What goes over a connection in one direction.
pub trait Frame: Serialize + DeserializeOwned {
    /// Bytes of a stream.
    fn data(id: Uuid, bytes: Bytes) -> Self;
    /// A word about a stream.
    fn signal(id: Uuid, signal: Signal) -> Self;
    /// The bytes, if it is data.
    fn as_data(&self) -> Option<(Uuid, &Bytes)>;
}

impl Frame for Request {
    fn data(id: Uuid, bytes: Bytes) -> Self {
        Self::Data { id, bytes }
    }

    fn signal(id: Uuid, signal: Signal) -> Self {
        Self::Stream { id, signal }
    }

    fn as_data(&self) -> Option<(Uuid, &Bytes)> {
        if let Self::Data { id, bytes } = self {
            Some((*id, bytes))
        } else {
            None
        }
    }
}

impl Frame for Reply {
    fn data(id: Uuid, bytes: Bytes) -> Self {
        Self::Data { id, bytes }
    }

    fn signal(id: Uuid, signal: Signal) -> Self {
        Self::Stream { id, signal }
    }

    fn as_data(&self) -> Option<(Uuid, &Bytes)> {
        if let Self::Data { id, bytes } = self {
            Some((*id, bytes))
        } else {
            None
        }
    }
}

/// Reads frames of one kind.
pub fn reader<T: Frame>(stream: impl AsyncRead + Unpin) -> impl Stream<Item = io::Result<T>> + Unpin {
    FramedRead::new(stream, codec()).map(|frame| decode(frame?.freeze()))
}

/// Writes frames of one kind.
pub fn writer<T: Frame>(stream: impl AsyncWrite + Unpin) -> impl Sink<T, Error = io::Error> + Unpin {
    FramedWrite::new(stream, codec()).with(|frame: T| std::future::ready(encode(&frame)))
}

/// What a frame of data begins with; no JSON does.
const DATA: u8 = 0;
/// Where the bytes begin in a frame of data.
const DATA_HEAD: usize = 17;

fn encode<T: Frame>(frame: &T) -> io::Result<Bytes> {
    let Some((id, data)) = frame.as_data() else {
        return Ok(serde_json::to_vec(frame)?.into());
    };
    let mut bytes = BytesMut::with_capacity(DATA_HEAD + data.len());
    bytes.put_u8(DATA);
    bytes.put_slice(id.as_bytes());
    bytes.put_slice(data);
    Ok(bytes.freeze())
}

fn decode<T: Frame>(mut frame: Bytes) -> io::Result<T> {
    if frame.first() != Some(&DATA) {
        return Ok(serde_json::from_slice(&frame)?);
    }
    let Some(Ok(id)) = frame.get(1..DATA_HEAD).map(Uuid::from_slice) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    Ok(T::data(id, frame.split_off(DATA_HEAD)))
}

fn codec() -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder()
        .max_frame_length(MAX_FRAME_BYTES)
        .new_codec()
}
