//! The tool calls of a turn, each put together from the news of it.

use serde_json::Value;

use crate::incoming::ToolCallUpdate;

/// Calls that may be open at once; of more nothing is told.
const MAX_OPEN: usize = 1024;

/// A tool call as far as it is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolCall {
    /// The call.
    pub id: String,
    /// In a few words, what it does.
    pub title: String,
    /// What sort of tool.
    pub kind: Option<String>,
    /// How far it is.
    pub status: Option<String>,
    /// What went in.
    pub raw_input: Option<Value>,
    /// What came out.
    pub raw_output: Option<Value>,
    /// What came out, in parts.
    pub content: Option<Vec<Value>>,
}

/// Those that have not ended.
#[derive(Debug, Default)]
pub struct ToolCalls(Vec<ToolCall>);

impl ToolCall {
    /// Whether it came to nothing.
    pub fn has_failed(&self) -> bool {
        self.status.as_deref() == Some("failed")
    }

    fn has_ended(&self) -> bool {
        matches!(self.status.as_deref(), Some("completed" | "failed"))
    }

    fn take(&mut self, news: ToolCallUpdate) {
        if let Some(title) = news.title {
            self.title = title;
        }
        self.kind = news.kind.or(self.kind.take());
        self.status = news.status.or(self.status.take());
        self.raw_input = news.raw_input.or(self.raw_input.take());
        self.raw_output = news.raw_output.or(self.raw_output.take());
        self.content = news.content.or(self.content.take());
    }
}

impl ToolCalls {
    /// Takes news in; gives the call if it is to be told: when it begins, and when it ends.
    pub fn take(&mut self, news: ToolCallUpdate) -> Option<ToolCall> {
        let known = self.0.iter().position(|call| call.id == news.id);
        let is_new = known.is_none();
        let index = match known {
            Some(index) => index,
            None if self.0.len() >= MAX_OPEN => return None,
            None => {
                self.0.push(ToolCall {
                    id: news.id.clone(),
                    title: "Tool call".to_owned(),
                    ..ToolCall::default()
                });
                self.0.len() - 1
            }
        };
        self.0[index].take(news);
        if self.0[index].has_ended() {
            return Some(self.0.remove(index));
        }
        is_new.then(|| self.0[index].clone())
    }

    /// What is known of a call that has not ended, with the news that came with a question about it.
    pub fn with(&self, news: &ToolCallUpdate) -> ToolCall {
        let mut call = self
            .0
            .iter()
            .find(|call| call.id == news.id)
            .cloned()
            .unwrap_or_default();
        call.id.clone_from(&news.id);
        call.take(news.clone());
        call
    }

    /// Those that have not ended, as calls that never will.
    pub fn give_up(&mut self) -> Vec<ToolCall> {
        let mut calls = std::mem::take(&mut self.0);
        for call in &mut calls {
            call.status = Some("failed".to_owned());
        }
        calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(id: &str, title: Option<&str>, status: &str) -> ToolCallUpdate {
        ToolCallUpdate {
            id: id.to_owned(),
            title: title.map(str::to_owned),
            status: Some(status.to_owned()),
            ..ToolCallUpdate::default()
        }
    }

    #[test]
    fn a_call_is_told_when_it_begins_and_when_it_ends() {
        let mut calls = ToolCalls::default();
        assert_eq!(
            calls.take(news("a", Some("Run ls"), "pending")).unwrap().title,
            "Run ls"
        );
        assert_eq!(calls.take(news("a", None, "in_progress")), None);
        let ended = calls.take(news("a", None, "completed")).unwrap();
        assert_eq!((ended.title.as_str(), ended.has_failed()), ("Run ls", false));
        calls.take(news("b", Some("Wait"), "pending"));
        let given_up = calls.give_up();
        assert!(given_up.len() == 1 && given_up[0].has_failed());
        assert!(calls.give_up().is_empty());
    }
}
