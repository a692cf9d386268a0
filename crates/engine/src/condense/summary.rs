//! What a model is asked to summarise, and what stands in when it cannot.

use std::fmt::Write as _;
use std::sync::Arc;

use deft_llm::{Request, message_tokens};
use deft_types::{Content, EventId, Message, Role, text_of};
use std::collections::HashSet;

use super::Style;
use crate::view::{Entry, SUMMARY_HEAD, View};

const SECTIONS: &str = include_str!("../prompt/summary-sections.md");
const FREE: &str = include_str!("../prompt/summary-free.md");
/// How much of one message is shown at most, in bytes; a summary of before is shown whole.
const MAX_MESSAGE: usize = 6_000;
/// How much of what the user said a stand-in keeps, in bytes.
const MAX_QUOTE: usize = 1_000;
/// How many of the user's messages and of the calls a stand-in names.
const MAX_QUOTES: usize = 20;
/// About how many bytes of text a token is.
const BYTES_PER_TOKEN: usize = 3;
/// Even in the place of very little a summary may have so many tokens.
const SMALLEST: u64 = 64;
/// More words than these nobody asks for, however much room there is.
const MAX_WORDS: u64 = 2_000;
/// A text that is cut has at least so many bytes of its own.
const LEAST_CUT: usize = 16;

/// What is to be summarised.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draft {
    pub(crate) events: Vec<EventId>,
    pub(crate) offset: usize,
    pub(crate) style: Style,
    /// How many tokens the summary may have.
    pub(crate) most: u64,
}

/// How many tokens may stand in for these events: half of what they are, and half of the room, so that there is more of
/// it afterwards.
pub(crate) fn most(view: &View, events: &[EventId], room: Option<u64>) -> u64 {
    let replaced: u64 = forgotten(view, events).iter().map(|entry| entry.tokens).sum();
    (replaced.min(room.unwrap_or(replaced)) / 2).max(SMALLEST)
}

/// Asks for a summary of the messages that are made of these events, in at most so many tokens.
pub(crate) fn request(view: &View, draft: &Draft, room: u64) -> Request {
    let forgotten = forgotten(view, &draft.events);
    let room = usize::try_from(room)
        .unwrap_or(usize::MAX)
        .saturating_mul(BYTES_PER_TOKEN);
    let each = (room / forgotten.len().max(1)).clamp(200, MAX_MESSAGE);
    let mut text = String::new();
    for entry in forgotten {
        let most = if entry.summary_of().is_some() {
            usize::MAX
        } else {
            each
        };
        render(&mut text, &entry.message, most);
    }
    let instructions = match draft.style {
        Style::Sections => SECTIONS,
        Style::Free => FREE,
    };
    let words = (draft.most * 3 / 4).min(MAX_WORDS);
    let instructions = format!("{}\n\nUse at most {words} words.", instructions.trim_end());
    Request {
        messages: vec![
            Arc::new(Message::text(Role::System, instructions)),
            Arc::new(Message::text(Role::User, text)),
        ]
        .into(),
        tools: Arc::new([]),
        cache_key: None,
    }
}

fn forgotten<'a>(view: &'a View, events: &[EventId]) -> Vec<&'a Entry> {
    let events: HashSet<_> = events.iter().collect();
    let is_forgotten = |entry: &&Entry| entry.events.iter().any(|id| events.contains(id));
    view.entries().iter().filter(is_forgotten).collect()
}

fn render(into: &mut String, message: &Message, most: usize) {
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "agent",
        Role::Tool => "result",
    };
    let _ = write!(into, "<{role}>\n{}", middle_cut(&text_of(&message.content), most));
    let images = message
        .content
        .iter()
        .filter(|part| matches!(part, Content::Image(_)));
    if images.count() > 0 {
        into.push_str("\n[with images]");
    }
    for call in message.tool_calls.iter().flatten() {
        let _ = write!(
            into,
            "\n[calls {}: {}]",
            call.name,
            middle_cut(&call.arguments, most)
        );
    }
    let _ = writeln!(into, "\n</{role}>");
}

/// Leaves out the middle of a long text.
fn middle_cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(most / 2);
    let tail = text.ceil_char_boundary(text.len() - most / 2);
    format!(
        "{}\n[{} bytes left out]\n{}",
        &text[..head],
        tail - head,
        &text[tail..]
    )
}

/// A text in at most about so many tokens: without its middle, if it is longer.
pub(crate) fn held_to(text: &str, tokens: u64) -> String {
    let count = |text: &str| message_tokens(&Message::text(Role::User, text)).0;
    let mut cut = text.to_owned();
    let mut most = text.len();
    while count(&cut) > tokens && most > LEAST_CUT {
        let share = u128::from(tokens) * most as u128 / u128::from(count(&cut));
        most = usize::try_from(share).unwrap_or(most).min(most * 9 / 10);
        cut = middle_cut(text, most);
    }
    cut
}

/// What stands for messages that no model could summarise, in at most so many tokens: the summary of before, what the
/// user said, and what was called.
pub(crate) fn fallback(view: &View, events: &[EventId], most: u64) -> String {
    let forgotten = forgotten(view, events);
    let (summaries, others): (Vec<&Entry>, Vec<_>) = forgotten
        .into_iter()
        .partition(|entry| entry.summary_of().is_some());
    let mut before = String::new();
    for summary in summaries {
        let text = text_of(&summary.message.content);
        let _ = writeln!(before, "{}\n", text.strip_prefix(SUMMARY_HEAD).unwrap_or(&text));
    }
    let mut text = format!(
        "{} earlier messages were left out, and no summary of them could be made. What can be said of them:\n",
        others.len()
    );
    let said = others.iter().filter(|entry| entry.message.role == Role::User);
    for entry in last(said.collect(), MAX_QUOTES) {
        let quote = middle_cut(&text_of(&entry.message.content), MAX_QUOTE);
        let _ = writeln!(text, "- The user said: {quote}");
    }
    let calls: Vec<_> = others
        .iter()
        .flat_map(|entry| entry.message.tool_calls.iter().flatten())
        .collect();
    for call in last(calls, MAX_QUOTES) {
        let arguments = middle_cut(&call.arguments, MAX_QUOTE / 5);
        let _ = writeln!(text, "- You called {}: {arguments}", call.name);
    }
    // What an earlier summary says is worth more than these quotes.
    let before = held_to(&before, most);
    let left = most.saturating_sub(message_tokens(&Message::text(Role::User, before.as_str())).0);
    before + &held_to(&text, left.max(SMALLEST / 2))
}

fn last<T>(mut items: Vec<T>, most: usize) -> Vec<T> {
    items.split_off(items.len().saturating_sub(most))
}
