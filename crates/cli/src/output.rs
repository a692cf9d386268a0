//! Shows events to a person at a terminal.
//!
//! What models and commands say is data: it goes through `neutral` before it is printed, so that it cannot
//! move the cursor, set the title or hide a part of itself. Begin reading at [`Printer::print`].

mod action;
mod check;
mod clip;
mod conversations;
mod diff;
mod failure;
mod line;
mod mcp;
mod models;
mod neutral;
mod observation;
mod page;
mod spent;
mod style;

use std::io::{self, Write};

use deft_engine::{AGENT_OF_TASK, MCP_SERVERS};
use deft_types::{
    ActionEvent, Event, EventBody, EventId, HookExecutionEvent, McpServerStatus, MessageEvent,
    ObservationEvent, SecurityAnalysisEvent, SecurityRisk, Source, text_of,
};

pub(crate) use self::check::check_line;
use self::clip::Clip;
pub(crate) use self::conversations::{ConversationRow, conversation_table};
pub(crate) use self::line::{event_line, json_line, one_line, one_sentence};
pub(crate) use self::mcp::{is_troubled, server_line, status_lines, trouble, troubled};
pub(crate) use self::models::{finding_line, model_list};
pub(crate) use self::neutral::without_escapes;
use self::page::Page;
pub(crate) use self::spent::spent_line;
pub(crate) use self::style::Style;

/// The state update that tells what a conversation does, and the word for one that waits for a person's.
const STATUS: &str = "execution_status";
const WAITING: &str = "waiting_for_confirmation";

/// Prints events, one after the other. The caller decides on colour and hands in a matching [`Style`].
pub(crate) struct Printer<W> {
    out: W,
    style: Style,
    /// The action printed last, whose result needs no heading if it follows at once.
    last_action: Option<EventId>,
    /// What was found of the actions of the last reply, should they have to wait.
    found: Vec<String>,
    /// The MCP servers that were told to be in trouble.
    troubled: Vec<McpServerStatus>,
}

impl<W: Write> Printer<W> {
    /// Prints to `out`.
    pub(crate) fn new(out: W, style: Style) -> Self {
        Self {
            out,
            style,
            last_action: None,
            found: Vec::new(),
            troubled: Vec::new(),
        }
    }

    /// Prints what a person wants to see of an event, which may be nothing.
    pub(crate) fn print(&mut self, event: &Event) -> io::Result<()> {
        let mut page = Page::new(&self.style);
        self.render(event, &mut page);
        match &event.body {
            EventBody::SecurityAnalysis(analysis) if analysis.analyzer != AGENT_OF_TASK => {
                self.found = findings(analysis);
            }
            EventBody::StateUpdate(update) if update.key == MCP_SERVERS => {
                self.troubled = troubled(&update.value);
            }
            _ => {}
        }
        if !page.is_empty() {
            self.last_action = matches!(event.body, EventBody::Action(_)).then(|| event.id.clone());
        }
        self.out.write_all(page.text().as_bytes())?;
        self.out.flush()
    }

    fn render(&self, event: &Event, page: &mut Page) {
        match &event.body {
            EventBody::Message(message) => render_message(event.source, message, page),
            EventBody::Action(action) => render_action(action, page),
            EventBody::Observation(result) => self.render_result(result, page),
            EventBody::AgentError(error) => {
                failure::render(
                    page,
                    &format!("{} failed", error.tool_name),
                    &error.error,
                    error.classification.as_ref(),
                );
            }
            EventBody::UserReject(reject) => page.line(
                page.style.warning,
                &format!(
                    "Rejected by the {}: {}",
                    reject.rejection_source, reject.rejection_reason
                ),
            ),
            EventBody::Pause(_) => page.line(page.style.warning, "Paused."),
            EventBody::Interrupt(_) => page.line(page.style.warning, "Interrupted."),
            EventBody::Condensation(condensation) => {
                let count = condensation.forgotten_event_ids.len();
                page.line(
                    page.style.dim,
                    &format!("Condensed {count} older events to make room."),
                );
            }
            EventBody::ConversationError(error) => {
                let what = match error.code.as_str() {
                    "WorkspaceError" => failure::NO_WORKSPACE,
                    "MaxBudgetReached" => failure::AT_LIMIT,
                    "LLMContextWindowExceedError" => failure::TOO_LONG,
                    _ => "Error",
                };
                failure::render(page, what, &error.detail, error.classification.as_ref());
            }
            EventBody::ServerError(error) => failure::render(page, "Error", &error.detail, None),
            EventBody::HookExecution(hook) => render_hook(hook, page),
            EventBody::AcpToolCall(call) => {
                let style = if call.is_error {
                    page.style.error
                } else {
                    page.style.heading
                };
                page.line(style, &call.title);
            }
            EventBody::SecurityAnalysis(analysis) if analysis.analyzer == AGENT_OF_TASK => {
                let wishes = analysis.details.values().filter_map(|detail| detail.as_str());
                wishes.for_each(|wish| page.lines(page.style.warning, "", wish));
            }
            // Who is to decide wants to know why.
            EventBody::StateUpdate(update) if update.key == STATUS && update.value == WAITING => {
                for why in &self.found {
                    page.line(page.style.warning, &format!("Why it waits: {why}"));
                }
            }
            EventBody::StateUpdate(update) if update.key == MCP_SERVERS => {
                let all = troubled(&update.value);
                for server in all.iter().filter(|server| !self.troubled.contains(server)) {
                    page.line(page.style.warning, &trouble(server));
                }
            }
            EventBody::Unknown(unknown) => page.line(page.style.dim, &format!("({})", unknown.kind)),
            EventBody::SystemPrompt(_)
            | EventBody::CondensationRequest(_)
            | EventBody::CondensationSummary(_)
            | EventBody::StateUpdate(_)
            | EventBody::CompletionLog(_)
            | EventBody::StreamingDelta(_)
            | EventBody::SecurityAnalysis(_)
            | EventBody::Token(_) => {}
        }
    }

    /// Results of calls that ran at the same time do not follow their action, so they name it.
    fn render_result(&self, result: &ObservationEvent, page: &mut Page) {
        let follows = self.last_action.as_ref() == Some(&result.action_id);
        let context = if follows {
            observation::Context::Follows
        } else {
            observation::Context::Apart
        };
        observation::render(&result.tool_name, &result.observation, context, page);
        // What was added to it for the agent: a host that was refused, a word of a hook.
        let added = text_of(&result.extended_content);
        if !added.trim().is_empty() {
            page.clipped(page.style.warning, "  ", added.trim(), Clip::OUTPUT);
        }
    }
}

/// Why actions are no small thing, each reason once.
fn findings(analysis: &SecurityAnalysisEvent) -> Vec<String> {
    let grave = analysis
        .risks
        .iter()
        .filter(|(_, risk)| **risk != SecurityRisk::Low);
    let reasons = grave.filter_map(|(id, _)| analysis.details.get(&id.0)?.as_str());
    let mut found: Vec<String> = Vec::new();
    for reason in reasons {
        if !found.iter().any(|other| other == reason) {
            found.push(reason.to_owned());
        }
    }
    found
}

fn render_message(source: Source, message: &MessageEvent, page: &mut Page) {
    let text = message.llm_message.plain_text();
    match source {
        Source::User => {
            page.blank();
            page.lines(page.style.user, "> ", &text);
        }
        Source::Agent => {
            page.blank();
            page.lines(page.style.plain, "", &text);
        }
        Source::Environment | Source::Hook => page.clipped(page.style.dim, "", &text, Clip::OUTPUT),
    }
}

fn render_action(event: &ActionEvent, page: &mut Page) {
    let reasoning = event.reasoning_content.as_deref().unwrap_or_default();
    let thought = text_of(&event.thought);
    if !(reasoning.trim().is_empty() && thought.trim().is_empty()) {
        page.blank();
    }
    page.clipped(page.style.dim, "", reasoning, Clip::REASONING);
    page.lines(page.style.plain, "", &thought);
    action::render(event, page);
}

fn render_hook(hook: &HookExecutionEvent, page: &mut Page) {
    let reason = hook
        .reason
        .as_deref()
        .or(hook.error.as_deref())
        .unwrap_or(&hook.stderr);
    let kind = &hook.hook_event_type;
    if hook.blocked {
        page.line(
            page.style.warning,
            &format!("A {kind} hook said no: {}", reason.trim()),
        );
    } else if !hook.success {
        page.line(
            page.style.warning,
            &format!("A {kind} hook failed: {}", reason.trim()),
        );
    }
}

#[cfg(test)]
mod tests;
