//! Answers of the gateway piece by piece.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use deft_engine::Live;
use deft_types::{DeltaKind, EventId, Message};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;

use super::gateway::{chat_usage, complete, new_id, now};
use crate::app::App;
use crate::failure::Failure;
use crate::gateway::{Exchange, Tokens};
use crate::resident::Signal;

/// How an API writes a stream.
pub(super) trait Pieces: Send + 'static {
    fn begin(&mut self) -> Vec<String>;
    fn piece(&mut self, text: &str) -> Vec<String>;
    fn end(&mut self, answer: &str, used: Tokens) -> Vec<String>;
    fn fail(&mut self, reason: &str) -> Vec<String>;
}

/// Says something to an agent and tells what it writes as it writes it.
pub(super) async fn stream(
    app: Arc<App>,
    exchange: Exchange,
    message: Message,
    mut pieces: impl Pieces,
) -> Response {
    let events = async_stream::stream! {
        for event in pieces.begin() {
            yield event;
        }
        let mut signals = exchange.resident.listen();
        let mut shown = Shown::default();
        let answer = exchange.answer(&app, message);
        tokio::pin!(answer);
        let ended = loop {
            tokio::select! {
                biased;
                signal = signals.recv() => match signal {
                    Ok(Signal::Live(live)) => {
                        if let Live::Delta { kind: DeltaKind::Text, text, item } = &*live && shown.goes_on(item, text) {
                            for event in pieces.piece(text) {
                                yield event;
                            }
                        }
                    }
                    Ok(Signal::State(..)) => {}
                    Err(RecvError::Lagged(_)) => shown.has_gap = true,
                    Err(RecvError::Closed) => break answer.await,
                },
                ended = &mut answer => break ended,
            }
        };
        let last = match ended {
            Ok((text, used)) => {
                let rest = shown.rest(&text);
                let mut last = if rest.is_empty() { Vec::new() } else { pieces.piece(rest) };
                last.extend(pieces.end(&format!("{}{rest}", shown.all), used));
                last
            }
            Err(failure) => pieces.fail(&Failure::detail(&failure)),
        };
        for event in last {
            yield event;
        }
    };
    let lines = futures::StreamExt::map(events, |event| {
        Ok::<_, std::convert::Infallible>(Bytes::from(event))
    });
    let kind = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (kind, Body::from_stream(lines)).into_response()
}

/// What a client has seen of an answer.
#[derive(Default)]
struct Shown {
    all: String,
    /// The reply that is being written, and where it begins.
    reply: Option<(EventId, usize)>,
    /// The client was too slow and has missed something. What comes behind a gap is shown at the end, as a whole.
    has_gap: bool,
}

impl Shown {
    /// Takes a piece of a reply, if it is to be shown.
    fn goes_on(&mut self, item: &EventId, text: &str) -> bool {
        if text.is_empty() || self.has_gap {
            return false;
        }
        if self.reply.as_ref().is_none_or(|(known, _)| known != item) {
            self.reply = Some((item.clone(), self.all.len()));
        }
        self.all.push_str(text);
        true
    }

    /// What is missing of the answer. What the agent says by a tool was no part of what the model wrote as text.
    fn rest<'a>(&self, answer: &'a str) -> &'a str {
        if self.all.ends_with(answer) {
            return "";
        }
        let begun = self.reply.as_ref().map_or("", |(_, start)| &self.all[*start..]);
        match answer.strip_prefix(begun) {
            Some(rest) if self.has_gap => rest,
            _ => answer,
        }
    }
}

/// Chat completions.
pub(super) struct ChatChunks {
    pub(super) id: String,
    pub(super) model: String,
    pub(super) with_usage: bool,
}

impl ChatChunks {
    fn chunk(&self, choices: &Value, usage: Option<Tokens>) -> String {
        #[allow(clippy::cast_possible_truncation)] // whole seconds
        let created = now() as i64;
        let mut chunk = json!({"id": self.id, "choices": choices, "created": created, "model": self.model,
            "object": "chat.completion.chunk"});
        if let Some(used) = usage {
            chunk["usage"] = chat_usage(used);
        }
        format!("data: {chunk}\n\n")
    }

    fn delta(&self, delta: &Value, reason: Option<&str>) -> String {
        self.chunk(
            &json!([{"index": 0, "delta": delta, "finish_reason": reason}]),
            None,
        )
    }
}

impl Pieces for ChatChunks {
    fn begin(&mut self) -> Vec<String> {
        vec![self.delta(&json!({"role": "assistant", "content": ""}), None)]
    }

    fn piece(&mut self, text: &str) -> Vec<String> {
        vec![self.delta(&json!({ "content": text }), None)]
    }

    fn end(&mut self, _: &str, used: Tokens) -> Vec<String> {
        let mut last = vec![self.delta(&json!({}), Some("stop"))];
        if self.with_usage {
            last.push(self.chunk(&json!([]), Some(used)));
        }
        last.push("data: [DONE]\n\n".to_owned());
        last
    }

    fn fail(&mut self, reason: &str) -> Vec<String> {
        let error = json!({"error": {"message": reason, "type": "server_error", "code": null}});
        vec![format!("data: {error}\n\n"), "data: [DONE]\n\n".to_owned()]
    }
}

/// Responses.
pub(super) struct ResponseEvents {
    response: Value,
    item: String,
    number: u64,
}

impl ResponseEvents {
    pub(super) fn new(response: Value) -> Self {
        Self {
            response,
            item: new_id("msg_"),
            number: 0,
        }
    }

    fn event(&mut self, kind: &str, mut fields: Value) -> String {
        fields["type"] = kind.into();
        fields["sequence_number"] = self.number.into();
        self.number += 1;
        format!("event: {kind}\ndata: {fields}\n\n")
    }

    /// An event about the text of the answer.
    fn of_text(&mut self, kind: &str, mut fields: Value) -> String {
        fields["item_id"] = self.item.as_str().into();
        fields["output_index"] = 0.into();
        fields["content_index"] = 0.into();
        self.event(kind, fields)
    }
}

impl Pieces for ResponseEvents {
    fn begin(&mut self) -> Vec<String> {
        let response = self.response.clone();
        let item = json!({"id": self.item, "type": "message", "role": "assistant", "status": "in_progress",
            "content": []});
        let part = json!({"type": "output_text", "text": "", "annotations": []});
        vec![
            self.event("response.created", json!({"response": response.clone()})),
            self.event("response.in_progress", json!({ "response": response })),
            self.event(
                "response.output_item.added",
                json!({"output_index": 0, "item": item}),
            ),
            self.of_text("response.content_part.added", json!({ "part": part })),
        ]
    }

    fn piece(&mut self, text: &str) -> Vec<String> {
        vec![self.of_text(
            "response.output_text.delta",
            json!({"delta": text, "logprobs": []}),
        )]
    }

    fn end(&mut self, answer: &str, used: Tokens) -> Vec<String> {
        let mut response = self.response.clone();
        complete(&mut response, &self.item, answer, used);
        let item = response["output"][0].clone();
        let part = item["content"][0].clone();
        vec![
            self.of_text(
                "response.output_text.done",
                json!({"text": answer, "logprobs": []}),
            ),
            self.of_text("response.content_part.done", json!({ "part": part })),
            self.event(
                "response.output_item.done",
                json!({"output_index": 0, "item": item}),
            ),
            self.event("response.completed", json!({ "response": response })),
        ]
    }

    fn fail(&mut self, reason: &str) -> Vec<String> {
        let mut response = self.response.clone();
        response["status"] = "failed".into();
        response["error"] = json!({"code": "server_error", "message": reason});
        vec![self.event("response.failed", json!({ "response": response }))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_a_gap_only_what_is_missing_of_the_answer_comes() {
        let [first, last] = [1, 2].map(|n| EventId::from(uuid::Uuid::from_u128(n)));
        let mut shown = Shown::default();
        assert!(shown.goes_on(&first, "Let me see. ") && shown.goes_on(&last, "All is "));
        assert_eq!(shown.rest("By a tool."), "By a tool.");
        shown.has_gap = true;
        assert!(!shown.goes_on(&last, "well."), "there would be a hole before it");
        assert_eq!(shown.rest("All is quite well."), "quite well.");
        assert_eq!(shown.rest("Another answer."), "Another answer.");
        shown.all.push_str("quite well.");
        assert_eq!(shown.rest("All is quite well."), "");
    }
}
