//! Replies that are known before they are asked for, played as if a model were writing them.

use std::time::Duration;

use deft_types::{Money, Tokens};
use futures::stream::BoxStream;
use tokio::task::yield_now;
use tokio::time::sleep;

use crate::api::broken_off;
use crate::{Delta, FinishReason, ModelError, Request, Usage};

/// About what a token of English or code is.
const CHARS_PER_TOKEN: usize = 4;

/// How much text comes at once.
const CHUNK_CHARS: usize = 12;

/// A reply known beforehand.
#[derive(Clone, Debug, Default)]
pub(crate) struct Canned {
    pub(crate) response_id: String,
    pub(crate) reasoning: String,
    pub(crate) text: String,
    pub(crate) calls: Vec<CannedCall>,
    pub(crate) usage: Usage,
    /// Why it ends; by default whatever its calls say.
    pub(crate) finish: Option<FinishReason>,
    /// After how many characters of text the connection breaks, if it does.
    pub(crate) cut_after: Option<usize>,
}

/// A call in such a reply.
#[derive(Clone, Debug)]
pub(crate) struct CannedCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// How fast it is played.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// Before the first piece.
    pub(crate) start: Duration,
    /// After each piece of text or reasoning.
    pub(crate) chunk: Duration,
}

impl Canned {
    /// Plays it.
    pub(crate) fn play(self, pace: Pace) -> BoxStream<'static, Result<Delta, ModelError>> {
        Box::pin(async_stream::try_stream! {
            pause(pace.start).await;
            yield Delta::Started { response_id: self.response_id };
            for piece in chunks(&self.reasoning) {
                yield Delta::Reasoning(piece);
                pause(pace.chunk).await;
            }
            let text: String = match self.cut_after {
                Some(length) => self.text.chars().take(length).collect(),
                None => self.text,
            };
            for piece in chunks(&text) {
                yield Delta::Text(piece);
                pause(pace.chunk).await;
            }
            if self.cut_after.is_some() {
                if self.usage.cost.is_some() {
                    yield Delta::Usage(self.usage);
                }
                Err(broken_off())?;
            }
            let finish = self.finish.unwrap_or(match self.calls.as_slice() {
                [] => FinishReason::Stop,
                [..] => FinishReason::ToolCalls,
            });
            for (index, call) in self.calls.into_iter().enumerate() {
                yield Delta::ToolCall { index, id: Some(call.id), name: Some(call.name), arguments: String::new(), item_id: None };
                for arguments in chunks(&call.arguments) {
                    yield Delta::ToolCall { index, id: None, name: None, arguments, item_id: None };
                }
            }
            // It costs what it says, else nothing.
            yield Delta::Usage(Usage { cost: self.usage.cost.or(Some(Money::ZERO)), ..self.usage });
            yield Delta::Finished(finish);
        })
    }

    /// About what a real model would count for this answer to that request.
    pub(crate) fn estimated_usage(&self, request: &Request) -> Usage {
        let asked: usize = request
            .messages
            .iter()
            .map(|message| message.plain_text().len())
            .sum();
        let called: usize = self
            .calls
            .iter()
            .map(|call| call.name.len() + call.arguments.len())
            .sum();
        let tokens = |length: usize| Tokens(length.div_ceil(CHARS_PER_TOKEN) as u64);
        Usage {
            prompt: tokens(asked),
            completion: tokens(self.reasoning.len() + self.text.len() + called),
            reasoning: tokens(self.reasoning.len()),
            ..Usage::default()
        }
    }
}

/// Lets others have their turn, and time pass where it is to: even the shortest sleep takes a millisecond.
async fn pause(time: Duration) {
    if time.is_zero() {
        yield_now().await;
    } else {
        sleep(time).await;
    }
}

fn chunks(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars
        .chunks(CHUNK_CHARS)
        .map(|chunk| chunk.iter().collect())
        .collect()
}
