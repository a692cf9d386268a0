//! The small questions that a model is tried with.

use std::sync::Arc;
use std::time::Duration;

use deft_types::{Message, Role, Tokens};
use serde_json::json;
use tokio::time::timeout;

use super::Verdict;
use crate::{CountSource, Delta, Model, ModelError, Reply, Request, ToolSchema, complete};

/// How long one question may take. A local model may have to be loaded first.
const PATIENCE: Duration = Duration::from_mins(5);

/// The tool that the model is asked to call.
const TOOL: &str = "report";

/// What it is asked to say.
const SMALL_TALK: &str = "Count from 1 to 20 in digits, separated by blanks. Say nothing else.";

/// Asks for a few words; gives back the reply and in how many pieces its text came.
pub(super) async fn talk(model: &dyn Model) -> (Result<Reply, ModelError>, usize) {
    let mut pieces = 0;
    let reply = ask(model, question(SMALL_TALK, None), |delta| {
        if let Delta::Text(_) | Delta::Reasoning(_) = delta {
            pieces += 1;
        }
    })
    .await;
    (reply, pieces)
}

/// Counts what [`talk`] says, and holds it against what was charged for that.
pub(super) async fn counted(model: &dyn Model, charged: Tokens) -> Verdict {
    let count = model.count(question(SMALL_TALK, None)).await;
    let who = match count.source {
        CountSource::Server => "its server counts",
        CountSource::Tokenizer => "its tokenizer counts",
        CountSource::Estimate => "estimated:",
    };
    let charged = match charged {
        Tokens::ZERO => String::new(),
        charged => format!(", {} were charged", charged.0),
    };
    Verdict::Good(format!("{who} {} tokens{charged}", count.tokens.0))
}

/// Asks for a call.
pub(super) async fn call(model: &dyn Model) -> Verdict {
    let tool = ToolSchema {
        name: TOOL.to_owned(),
        description: "Reports a word to the user.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": { "word": { "type": "string", "description": "The word." } },
            "required": ["word"],
        }),
    };
    let request = question("Call the tool `report` with the word `ready`.", Some(tool));
    let remedy = "choose a model that calls tools; `deft models` tells which do";
    match ask(model, request, |_| ()).await {
        Err(error) => Verdict::bad(error, remedy),
        Ok(reply) => match reply.tool_calls.first() {
            Some(call) if call.name == TOOL && is_object(&call.arguments) => {
                Verdict::Good(format!("it called `{TOOL}` with {}", call.arguments))
            }
            Some(call) if call.name != TOOL => {
                Verdict::bad(format!("it called `{}` and not `{TOOL}`", call.name), remedy)
            }
            Some(call) => Verdict::bad(
                format!(
                    "it called `{TOOL}` with {}, which is no JSON object",
                    call.arguments
                ),
                remedy,
            ),
            None => Verdict::bad("it answered in words and called nothing", remedy),
        },
    }
}

fn is_object(arguments: &str) -> bool {
    serde_json::from_str(arguments).is_ok_and(|value: serde_json::Value| value.is_object())
}

pub(super) fn streamed(pieces: usize) -> Verdict {
    match pieces {
        0 | 1 => Verdict::bad(
            "the whole answer came at once",
            "everything works, but you see nothing before an answer is whole: look for a proxy that buffers",
        ),
        _ => Verdict::Good(format!("the answer came in {pieces} pieces")),
    }
}

fn question(text: &str, tool: Option<ToolSchema>) -> Request {
    Request {
        messages: vec![Arc::new(Message::text(Role::User, text))].into(),
        tools: tool.into_iter().collect(),
        cache_key: None,
    }
}

async fn ask(model: &dyn Model, request: Request, show: impl FnMut(&Delta)) -> Result<Reply, ModelError> {
    match timeout(PATIENCE, complete(model, request, show)).await {
        Ok(reply) => reply,
        Err(_) => Err(ModelError::Timeout {
            detail: format!("no whole answer within {} s", PATIENCE.as_secs()),
        }),
    }
}

pub(super) fn answered(reply: &Reply) -> String {
    let seconds = reply.latency.as_secs_f32();
    format!(
        "it answered in {seconds:.1} s, {} tokens",
        reply.usage.prompt.0 + reply.usage.completion.0
    )
}
