//! Makes deltas of the bytes of an answer.

#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use super::event::{Event, Response};
use super::reasoning::{self, Placed};
use crate::api::broken_off;
use crate::http::{excerpt, failure_of};
use crate::json_events::{JsonAnswer, JsonReader};
use crate::{Delta, FinishReason, ModelError, Usage};

/// Stands between texts that are items of their own.
const PARAGRAPH: &str = "\n\n";

/// A reply may not have more items than this.
const MAX_ITEMS: usize = 1_024;

/// Reads an answer cut anywhere.
pub(super) type ReplyReader = JsonAnswer<Reader>;

/// Reads the texts of an answer.
#[derive(Default)]
pub(super) struct Reader {
    started: bool,
    /// The items of the reply so far.
    items: Vec<Item>,
    calls: usize,
    reasoning: Vec<Placed>,
    /// The item that wrote the last text.
    last_text: Option<usize>,
    /// The item that wrote the last reasoning, and which of its summaries.
    last_reasoning: Option<(usize, Option<usize>)>,
    usage: Option<Usage>,
    finish: Option<FinishReason>,
}

/// An item of the reply, as far as it has come.
struct Item {
    /// Its place, by the server's count.
    output_index: Option<usize>,
    id: Option<String>,
    /// Which of the calls it is, if it is one.
    call: Option<usize>,
    /// How many bytes of its text or arguments have been handed on.
    written: usize,
    state: State,
}

/// How far an item is.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Only pieces have come.
    Begun,
    /// What it is has come.
    Announced,
    /// It is whole.
    Done,
}

impl JsonReader for Reader {
    fn event(&mut self, data: &str, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        let data = data.trim();
        if data.is_empty() || data == "[DONE]" || self.is_done() {
            return Ok(());
        }
        let mut event: Event = parse(data)?;
        let kind = event.r#type.take().unwrap_or_default();
        match kind.as_str() {
            "response.output_item.added" => self.item_added(&event, deltas)?,
            "response.output_item.done" => self.item_done(event.output_index, event.item.as_ref(), deltas)?,
            "response.output_text.delta" | "response.refusal.delta" => {
                let item = self.item(event.output_index, event.item_id.as_deref())?;
                self.text(item, event.delta(), deltas);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let item = self.item(event.output_index, event.item_id.as_deref())?;
                self.thought(item, event.summary_index, event.delta(), deltas);
            }
            "response.function_call_arguments.delta" => {
                let item = self.item(event.output_index, event.item_id.as_deref())?;
                self.arguments(item, event.delta().to_owned(), deltas);
            }
            "response.function_call_arguments.done" => {
                let item = self.item(event.output_index, event.item_id.as_deref())?;
                let rest = self.rest(item, event.arguments.as_deref().unwrap_or_default());
                self.arguments(item, rest, deltas);
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                let Some(mut response) = event.response else {
                    return Err(ModelError::Protocol {
                        detail: format!("`{kind}` without a response: {}", excerpt(data)),
                    });
                };
                let status = kind.trim_start_matches("response.");
                response.status.get_or_insert_with(|| status.to_owned());
                self.close(response, deltas)?;
            }
            "error" => return Err(failure_of(None, None, data)),
            // `response.created` and the like. New kinds of events are no reason to fail.
            _ => self.start(event.response.and_then(|response| response.id), deltas),
        }
        Ok(())
    }

    fn whole(&mut self, body: &str, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        let response: Response = parse(body)?;
        if response.output.is_none() && response.error.is_none() {
            return Err(ModelError::Protocol {
                detail: format!("expected a response, got: {}", excerpt(body)),
            });
        }
        self.close(response, deltas)
    }

    fn end(&mut self, deltas: &mut Vec<Delta>) -> Result<FinishReason, ModelError> {
        let finish = self.finish.ok_or_else(broken_off)?;
        deltas.extend(reasoning::join(std::mem::take(&mut self.reasoning)).map(Delta::ReasoningItem));
        Ok(finish)
    }

    fn usage(&self) -> Option<Usage> {
        self.usage
    }

    fn is_whole(&self) -> bool {
        self.finish.is_some()
    }

    fn is_done(&self) -> bool {
        self.finish.is_some()
    }
}

impl Reader {
    fn start(&mut self, id: Option<String>, deltas: &mut Vec<Delta>) {
        if !self.started
            && let Some(response_id) = id.filter(|id| !id.is_empty())
        {
            self.started = true;
            deltas.push(Delta::Started { response_id });
        }
    }

    /// The reply is over, one way or another.
    fn close(&mut self, response: Response, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        if let Some(error) = response.error.as_ref().filter(|error| !error.is_null()) {
            return Err(failure_of(None, None, &json!({ "error": error }).to_string()));
        }
        let finish = match (response.status.as_deref(), response.incomplete_reason()) {
            (Some("failed" | "cancelled"), _) => {
                return Err(ModelError::Unavailable {
                    detail: "the server gave the reply up without saying why".to_owned(),
                });
            }
            (Some("incomplete"), "content_filter") => Some(FinishReason::ContentFilter),
            (Some("incomplete"), _) => Some(FinishReason::Length),
            _ => None,
        };
        self.start(response.id, deltas);
        // A few servers send the items only here.
        if self.items.is_empty() {
            for (index, item) in response.output.iter().flatten().enumerate() {
                self.item_done(Some(index), Some(item), deltas)?;
            }
        }
        self.usage = response.usage.map(Usage::from);
        self.finish = finish.or(Some(match self.calls {
            0 => FinishReason::Stop,
            _ => FinishReason::ToolCalls,
        }));
        Ok(())
    }

    fn item_added(&mut self, event: &Event, deltas: &mut Vec<Delta>) -> Result<(), ModelError> {
        let Some(json) = &event.item else { return Ok(()) };
        let item = self.item(event.output_index, word(json, "id"))?;
        if word(json, "type") == Some("function_call") {
            self.call(item, json, deltas);
        }
        Ok(())
    }

    /// An item is whole: what has not been handed on yet goes now.
    fn item_done(
        &mut self,
        output_index: Option<usize>,
        json: Option<&Value>,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), ModelError> {
        let Some(json) = json else { return Ok(()) };
        let item = self.item(output_index, word(json, "id"))?;
        if self.items[item].state == State::Done {
            return Ok(());
        }
        match word(json, "type") {
            Some("function_call") => self.call(item, json, deltas),
            Some("message") => {
                let text: String = parts(json)
                    .filter_map(|part| word(part, "text").or(word(part, "refusal")))
                    .collect();
                let rest = self.rest(item, &text);
                self.text(item, &rest, deltas);
            }
            Some("reasoning") => {
                let reasoning = reasoning::read(json);
                if self.items[item].written == 0 {
                    let summary = Some(&reasoning.summary).filter(|texts| !texts.is_empty());
                    let shown = summary.or(reasoning.content.as_ref());
                    for (index, text) in shown.into_iter().flatten().enumerate() {
                        self.thought(item, Some(index), text, deltas);
                    }
                }
                self.reasoning.push(Placed {
                    calls_before: (self.calls > 0 || self.last_text.is_some()).then_some(self.calls),
                    item: reasoning,
                });
            }
            _ => {}
        }
        self.items[item].state = State::Done;
        Ok(())
    }

    /// Finds an item, or makes room for it. Its place counts more than its id, which some servers change.
    fn item(&mut self, output_index: Option<usize>, id: Option<&str>) -> Result<usize, ModelError> {
        let known = self.items.iter().rposition(|item| match output_index {
            Some(_) => item.output_index == output_index,
            None => item.id.as_deref() == id,
        });
        if let Some(known) = known {
            return Ok(known);
        }
        if self.items.len() == MAX_ITEMS {
            return Err(ModelError::Protocol {
                detail: format!("the reply has more than {MAX_ITEMS} items"),
            });
        }
        self.items.push(Item {
            output_index,
            id: id.map(str::to_owned),
            call: None,
            written: 0,
            state: State::Begun,
        });
        Ok(self.items.len() - 1)
    }

    /// What of a text has not been handed on yet.
    fn rest(&self, item: usize, whole: &str) -> String {
        whole
            .get(self.items[item].written..)
            .unwrap_or_default()
            .to_owned()
    }

    fn text(&mut self, item: usize, text: &str, deltas: &mut Vec<Delta>) {
        if text.is_empty() {
            return;
        }
        if self.last_text.replace(item).is_some_and(|last| last != item) {
            deltas.push(Delta::Text(PARAGRAPH.to_owned()));
        }
        self.items[item].written += text.len();
        deltas.push(Delta::Text(text.to_owned()));
    }

    fn thought(&mut self, item: usize, summary: Option<usize>, text: &str, deltas: &mut Vec<Delta>) {
        if text.is_empty() {
            return;
        }
        let place = (item, summary);
        if self
            .last_reasoning
            .replace(place)
            .is_some_and(|last| last != place)
        {
            deltas.push(Delta::Reasoning(PARAGRAPH.to_owned()));
        }
        self.items[item].written += text.len();
        deltas.push(Delta::Reasoning(text.to_owned()));
    }

    /// A call as far as the server has it: names it once, and hands on what is new.
    fn call(&mut self, item: usize, json: &Value, deltas: &mut Vec<Delta>) {
        let rest = self.rest(item, word(json, "arguments").unwrap_or_default());
        if self.items[item].state != State::Begun {
            return self.arguments(item, rest, deltas);
        }
        self.items[item].state = State::Announced;
        self.items[item].written += rest.len();
        deltas.push(Delta::ToolCall {
            index: self.number(item),
            id: word(json, "call_id").map(str::to_owned),
            name: word(json, "name").map(str::to_owned),
            arguments: rest,
            item_id: word(json, "id").map(str::to_owned),
        });
    }

    /// More of a call.
    fn arguments(&mut self, item: usize, arguments: String, deltas: &mut Vec<Delta>) {
        if arguments.is_empty() {
            return;
        }
        self.items[item].written += arguments.len();
        deltas.push(Delta::ToolCall {
            index: self.number(item),
            id: None,
            name: None,
            arguments,
            item_id: None,
        });
    }

    /// Which of the calls an item is.
    fn number(&mut self, item: usize) -> usize {
        let next = &mut self.calls;
        *self.items[item].call.get_or_insert_with(|| {
            *next += 1;
            *next - 1
        })
    }
}

fn parse<'a, T: serde::Deserialize<'a>>(json: &'a str) -> Result<T, ModelError> {
    serde_json::from_str(json).map_err(|error| ModelError::Protocol {
        detail: format!(
            "expected an event of a response ({error}), got: {}",
            excerpt(json)
        ),
    })
}

fn word<'a>(json: &'a Value, name: &str) -> Option<&'a str> {
    json.get(name)?.as_str()
}

fn parts(item: &Value) -> impl Iterator<Item = &Value> {
    item.get("content")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}
