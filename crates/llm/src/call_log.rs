//! Keeps whole model calls, for people who want to see what a model was asked and what it said.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use deft_types::ToolCall;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde_json::{Value, json};

use crate::reply::Draft;
use crate::{Delta, Model, ModelError, ModelProfile, Reply, Request, TokenCount, ToolSchema};

/// Calls that are kept until somebody takes them; the oldest goes first.
const MAX_KEPT: usize = 32;

/// A call that has ended.
#[derive(Clone, Debug)]
pub struct LoggedCall {
    /// The model.
    pub model: String,
    /// What it was used for.
    pub usage_id: String,
    /// Whether it failed.
    pub failed: bool,
    /// The request, and the reply or the error.
    pub data: Value,
}

/// Calls that have ended and that nobody has taken yet. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct CallLog(Arc<Mutex<VecDeque<LoggedCall>>>);

impl CallLog {
    /// The same model, whose calls are kept here.
    pub fn around(&self, model: Arc<dyn Model>, usage_id: &str) -> Arc<dyn Model> {
        Arc::new(Logged {
            model,
            usage_id: usage_id.to_owned(),
            log: self.clone(),
        })
    }

    /// Those that have ended since the last time, oldest first.
    pub fn take(&self) -> Vec<LoggedCall> {
        self.lock().drain(..).collect()
    }

    fn add(&self, call: LoggedCall) {
        let mut calls = self.lock();
        if calls.len() == MAX_KEPT {
            calls.pop_front();
        }
        calls.push_back(call);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<LoggedCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A model whose calls are kept. One that is dropped in the middle is not: it has no end.
struct Logged {
    model: Arc<dyn Model>,
    usage_id: String,
    log: CallLog,
}

impl Model for Logged {
    fn profile(&self) -> &ModelProfile {
        self.model.profile()
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let mut call = Call::new(self, &request);
        let pieces = self.model.stream(request);
        pieces.inspect(move |piece| call.see(piece)).boxed()
    }

    fn count(&self, request: Request) -> BoxFuture<'static, TokenCount> {
        self.model.count(request)
    }
}

/// A call under way.
struct Call {
    log: CallLog,
    kept: LoggedCall,
    reply: Draft,
    began: Instant,
}

impl Call {
    fn new(logged: &Logged, request: &Request) -> Self {
        let profile = logged.profile();
        let messages: Vec<_> = request.messages.iter().map(|message| json!(**message)).collect();
        let mut data = json!({"context_window": profile.context_window.map_or(0, |window| window.0),
            "messages": messages});
        if !request.tools.is_empty() {
            data["tools"] = request.tools.iter().map(tool).collect();
        }
        Self {
            log: logged.log.clone(),
            kept: LoggedCall {
                model: profile.name.clone(),
                usage_id: logged.usage_id.clone(),
                failed: false,
                data,
            },
            reply: Draft::default(),
            began: Instant::now(),
        }
    }

    fn see(&mut self, piece: &Result<Delta, ModelError>) {
        match piece.clone().and_then(|piece| self.reply.add(piece)) {
            Ok(None) => {}
            Ok(Some(finish)) => {
                let reply = std::mem::take(&mut self.reply).into_reply(finish, self.began.elapsed());
                self.end_with(&reply);
            }
            Err(error) => self.end_without(&error),
        }
    }

    fn end_with(&mut self, reply: &Reply) {
        let usage = &reply.usage;
        self.kept.data["response"] = response(&self.kept.model, reply);
        self.kept.data["usage_summary"] = json!({"prompt_tokens": usage.prompt, "completion_tokens": usage.completion,
            "reasoning_tokens": usage.reasoning, "cache_read_tokens": usage.cache_read});
        self.end(json!(reply.cost), reply.latency);
    }

    fn end_without(&mut self, error: &ModelError) {
        self.kept.failed = true;
        self.kept.data["error"] = json!({"type": error.code(), "message": error.to_string()});
        self.end(Value::Null, self.began.elapsed());
    }

    fn end(&mut self, cost: Value, latency: Duration) {
        self.kept.data["cost"] = if cost.is_null() { json!(0.0) } else { cost };
        self.kept.data["latency_sec"] = json!(latency.as_secs_f64());
        self.log.add(self.kept.clone());
    }
}

/// Tools and replies stand in the log as the chat API has them, whichever API was asked: readers know that one.
fn tool(tool: &ToolSchema) -> Value {
    json!({"type": "function", "function": tool})
}

fn response(model: &str, reply: &Reply) -> Value {
    let mut message = json!({"role": "assistant", "content": reply.text});
    if let Some(reasoning) = &reply.reasoning {
        message["reasoning_content"] = json!(reasoning);
    }
    if !reply.tool_calls.is_empty() {
        message["tool_calls"] = reply.tool_calls.iter().map(call).collect();
    }
    let usage = &reply.usage;
    json!({"id": reply.response_id, "object": "chat.completion", "model": model,
        "choices": [{"index": 0, "finish_reason": reply.finish, "message": message}],
        "usage": {"prompt_tokens": usage.prompt, "completion_tokens": usage.completion,
            "total_tokens": usage.prompt + usage.completion}})
}

fn call(call: &ToolCall) -> Value {
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}})
}

#[cfg(test)]
mod tests {
    use deft_types::{Message, Role};

    use super::*;
    use crate::script::ScriptModel;

    async fn kept(script: &str) -> Vec<LoggedCall> {
        let log = CallLog::default();
        let model = log.around(
            Arc::new(ScriptModel::parse(script, "calls.yaml").unwrap()),
            "agent",
        );
        let request = || Request {
            messages: [Arc::new(Message::text(Role::User, "Do it."))]
                .into_iter()
                .collect(),
            tools: Arc::new([ToolSchema {
                name: "terminal".to_owned(),
                description: String::new(),
                parameters: json!({}),
            }]),
            ..Request::default()
        };
        let _ = crate::complete(model.as_ref(), request(), |_| {}).await;
        drop(model.stream(request())); // nobody waits for this one
        log.take()
    }

    #[tokio::test]
    async fn a_call_is_kept_with_what_was_asked_and_what_was_said() {
        let calls = kept("- text: Hello.\n  tool_calls: [{name: terminal, arguments: {command: ls}}]").await;
        let [call] = &calls[..] else { panic!("{calls:?}") };
        assert_eq!((call.model.as_str(), call.failed), ("script:calls.yaml", false));
        assert_eq!(call.data["messages"][0]["content"][0]["text"], "Do it.");
        let said = &call.data["response"]["choices"][0]["message"];
        assert_eq!(said["content"], "Hello.");
        assert_eq!(said["tool_calls"][0]["function"]["name"], "terminal");
        assert!(call.data["latency_sec"].is_f64() && call.data["cost"].is_number());
    }

    #[tokio::test]
    async fn a_call_that_failed_is_kept_with_its_error() {
        let calls = kept("- error: {kind: authentication}\n- text: Never.").await;
        let [call] = &calls[..] else { panic!("{calls:?}") };
        assert!(call.failed);
        assert_eq!(call.data["error"]["type"], "LLMAuthenticationError");
        assert_eq!(call.data.get("response"), None);
    }
}
