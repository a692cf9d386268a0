//! What the model would be sent next, for people who want to know what takes the room.

use std::collections::BTreeMap;

use deft_llm::{ModelProfile, TokenMeter, ToolSchema};
use deft_types::{Content, EventId, Message, Role, Tokens, ToolSpec};
use serde::Serialize;

use crate::condense::usable;
use crate::state::State;
use crate::toolset::Toolset;
use crate::view::{Entry, SUMMARY_HEAD, View};

/// How much of a message is told, in characters of its beginning.
const TOLD: usize = 200;

/// What is in a request. All numbers of tokens are estimates, corrected by what the provider has counted so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Context {
    /// The newest messages, in their order.
    pub entries: Vec<ContextEntry>,
    /// Those before them.
    pub earlier: Earlier,
    /// How many tokens each kind has.
    pub kinds: BTreeMap<ContextKind, Tokens>,
    /// How many tokens it has in all.
    pub tokens: Tokens,
    /// The tools that are offered, with the schemas of their arguments.
    pub tools: Vec<ToolSchema>,
    /// How much the model can read, where that is known.
    pub window: Option<Tokens>,
    /// How much of that is kept free. When there is less, room is made.
    pub reserve: Option<Tokens>,
}

/// Messages that are not told one by one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Earlier {
    /// How many there are.
    pub entries: usize,
    /// How many tokens they have.
    pub tokens: Tokens,
}

/// One message of a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ContextEntry {
    /// The event that it comes from, the first if there are more; a summary comes from a condensation.
    pub event_id: Option<EventId>,
    /// What it is.
    pub kind: ContextKind,
    /// How many tokens it has.
    pub tokens: Tokens,
    /// Whether a result was left out of it, or shortened, to make room.
    pub is_masked: bool,
    /// How many messages are not seen any more that stood before it, or that it is the summary of.
    pub left_out: usize,
    /// The tool that a result is from.
    pub tool: Option<String>,
    /// How it begins.
    pub text: String,
}

/// What a part of a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextKind {
    /// The system prompt.
    Prompt,
    /// The tools that are offered.
    Tools,
    /// What stands in the place of earlier messages.
    Summary,
    /// What is said to the agent.
    User,
    /// What the agent said.
    Agent,
    /// Calls of tools, with what the agent said before them.
    Calls,
    /// What tools have answered.
    Results,
}

impl Context {
    /// Of a conversation that is not loaded, whose model and tools are these. The newest messages are told one by one.
    pub fn of(state: &State, tools: Vec<ToolSpec>, profile: &ModelProfile, most: usize) -> Self {
        let tools = Toolset::new(tools, Vec::new());
        Self::new(&state.view, &tools, profile, &TokenMeter::new(), most)
    }

    pub(crate) fn new(
        view: &View,
        tools: &Toolset,
        profile: &ModelProfile,
        meter: &TokenMeter,
        most: usize,
    ) -> Self {
        let all: Vec<_> = view.coming().collect();
        let (before, told) = all.split_at(all.len().saturating_sub(most));
        let mut kinds = BTreeMap::from([(ContextKind::Tools, tools.tokens())]);
        for entry in &all {
            *kinds.entry(kind_of(entry)).or_default() += Tokens(entry.tokens);
        }
        for tokens in kinds.values_mut() {
            *tokens = meter.correct(*tokens);
        }
        kinds.retain(|_, tokens| *tokens > Tokens::ZERO);
        let before_tokens = Tokens(before.iter().map(|entry| entry.tokens).sum());
        Self {
            entries: told.iter().map(|entry| told_of(entry, meter)).collect(),
            earlier: Earlier {
                entries: before.len(),
                tokens: meter.correct(before_tokens),
            },
            tokens: Tokens(kinds.values().map(|tokens| tokens.0).sum()),
            kinds,
            tools: tools.schemas().to_vec(),
            window: profile.context_window,
            reserve: profile
                .context_window
                .zip(usable(profile))
                .map(|(window, usable)| Tokens(window.0 - usable)),
        }
    }
}

fn kind_of(entry: &Entry) -> ContextKind {
    match entry.message.role {
        Role::System => ContextKind::Prompt,
        Role::User if entry.summary_of().is_some() => ContextKind::Summary,
        Role::User => ContextKind::User,
        Role::Assistant if entry.message.tool_calls.is_some() => ContextKind::Calls,
        Role::Assistant => ContextKind::Agent,
        Role::Tool => ContextKind::Results,
    }
}

fn told_of(entry: &Entry, meter: &TokenMeter) -> ContextEntry {
    ContextEntry {
        event_id: entry.summary_of().or_else(|| entry.events.first().cloned()),
        kind: kind_of(entry),
        tokens: meter.correct(Tokens(entry.tokens)),
        is_masked: entry.is_masked,
        left_out: entry.left_out,
        tool: entry.message.name.clone(),
        text: beginning(&entry.message),
    }
}

/// How a message begins. The rest is not even looked at: it may be long.
fn beginning(message: &Message) -> String {
    let words = message.content.iter().map(|part| match part {
        Content::Text(body) => body.text.strip_prefix(SUMMARY_HEAD).unwrap_or(&body.text),
        Content::Image(_) => "[image]",
    });
    let calls = message.tool_calls.iter().flatten();
    let calls = calls.flat_map(|call| [call.name.as_str(), call.arguments.as_str()]);
    let parts = words.chain(calls).filter(|part| !part.is_empty());
    let letters = parts.flat_map(|part| part.chars().chain([' ']));
    letters.take(TOLD).collect::<String>().trim_end().to_owned()
}
