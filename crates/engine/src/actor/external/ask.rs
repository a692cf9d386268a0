//! What such an agent wants to be allowed: the confirmation policy decides whether a person is asked.

use deft_acp::{Choice, Permission, ToolCall as AgentCall};
use deft_store::StoreError;
use deft_types::{
    Action, ActionEvent, ActionId, Content, Extra, MCPToolAction, MCPToolObservation, Observation,
    ObservationEvent, SecurityRisk, Source, Status, TerminalAction, ToolCall, ToolCallOrigin,
};
use serde_json::{Value, json};

use super::super::Actor;
use super::super::work::Work;
use crate::state::OpenCall;
use crate::status::Trigger;
use crate::turn::Draft;

impl Actor {
    /// Allows what needs no word. What does becomes an action that waits, stored with the status that says so.
    pub(super) async fn take_permission(&mut self, permission: Permission) -> Result<(), StoreError> {
        let Some(Work::Turn(turn)) = &mut self.work else {
            return Ok(());
        };
        let call = turn.calls.with(&permission.call);
        let action = action(&call, self.world.new_id().to_string());
        if !self.must_wait(&action) {
            if let Some(Work::Turn(turn)) = &mut self.work {
                turn.running.session.answer(&permission, Choice::Allow).await;
            }
            return Ok(());
        }
        let id = ActionId::from(self.world.new_id());
        let mut drafts = vec![Draft::new(Source::Agent, action).with_id(id.clone())];
        let review = self.reviewed(&mut drafts, &[]);
        drafts.extend(review);
        if let Some(Work::Turn(turn)) = &mut self.work {
            turn.asks = Some((permission, id));
        }
        self.record(drafts).await
    }

    /// Passes on to the agent what was decided about its question. A no ends the turn, as it ends a run of our own.
    pub(crate) async fn settle_question(&mut self) -> Result<(), StoreError> {
        let Some(Work::Turn(turn)) = &mut self.work else {
            return Ok(());
        };
        let Some((_, action)) = &turn.asks else {
            return Ok(());
        };
        let open = self
            .state
            .open_calls
            .iter()
            .find(|call| call.id == *action)
            .cloned();
        match (open, self.state.status) {
            (Some(call), Status::Running) => {
                self.unsent.remove(&call.id);
                self.record(vec![allowed(&call)]).await?;
                if let Some(Work::Turn(turn)) = &mut self.work {
                    turn.answer(Choice::Allow).await;
                }
                Ok(())
            }
            (Some(_), _) => Ok(()), // nobody has decided
            (None, _) => {
                let Some(Work::Turn(turn)) = self.work.take() else {
                    return Ok(());
                };
                let refusal = self
                    .state
                    .view
                    .entries()
                    .last()
                    .map(|entry| entry.message.plain_text());
                if let Some(external) = &mut self.external {
                    external.cut_off = refusal;
                }
                let mut left = self.stop_turn(*turn).await;
                // Where it was not a person's no that closed the question.
                left.extend(self.status_after(Trigger::Reject));
                self.record(left).await
            }
        }
    }
}

/// The action that stands for a question. A command is one of our own, so that it is judged like them.
fn action(call: &AgentCall, id: String) -> ActionEvent {
    let kind = call.kind.clone().unwrap_or_else(|| "other".to_owned());
    let command = call
        .raw_input
        .as_ref()
        .and_then(command)
        .filter(|_| kind == "execute");
    let (tool_name, arguments, action) = if let Some(command) = command {
        let shown = json!({"command": command});
        let action = TerminalAction {
            command,
            ..TerminalAction::default()
        };
        ("terminal".to_owned(), shown, Action::Terminal(Box::new(action)))
    } else {
        let data = Extra::from_iter([
            ("title".to_owned(), json!(call.title)),
            ("input".to_owned(), json!(call.raw_input)),
            ("content".to_owned(), json!(call.content)),
        ]);
        let shown = json!(data);
        let action = MCPToolAction {
            data,
            ..MCPToolAction::default()
        };
        (kind, shown, Action::MCPTool(Box::new(action)))
    };
    ActionEvent {
        thought: Vec::new(),
        reasoning_content: None,
        thinking_blocks: Vec::new(),
        responses_reasoning_item: None,
        action: Some(action),
        tool_call: ToolCall {
            id: id.clone(),
            responses_item_id: None,
            name: tool_name.clone(),
            arguments: arguments.to_string(),
            origin: ToolCallOrigin::Completion,
            extra: Extra::new(),
        },
        tool_name,
        tool_call_id: id.clone(),
        llm_response_id: id,
        security_risk: SecurityRisk::Unknown,
        critic_result: None,
        summary: Some(call.title.clone()),
        extra: Extra::new(),
    }
}

/// The command line that a call would run, as a shell would read it.
fn command(input: &Value) -> Option<String> {
    match &input["command"] {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => {
            let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                [] => None,
                [_, "-c" | "-lc", script] => Some((*script).to_owned()),
                words => Some(
                    words
                        .iter()
                        .map(|word| quoted(word))
                        .collect::<Vec<_>>()
                        .join(" "),
                ),
            }
        }
        _ => None,
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The answer to the action that stands for a question.
fn allowed(call: &OpenCall) -> Draft {
    let observation = MCPToolObservation {
        content: vec![Content::text("Allowed. The agent goes on.")],
        tool_name: call.event.tool_name.clone(),
        ..MCPToolObservation::default()
    };
    Draft::new(
        Source::Environment,
        ObservationEvent {
            tool_name: call.event.tool_name.clone(),
            tool_call_id: call.event.tool_call_id.clone(),
            observation: Observation::MCPTool(Box::new(observation)),
            action_id: call.id.clone(),
            extended_content: Vec::new(),
            extra: Extra::new(),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_in_every_form_that_agents_write() {
        let read = |input: Value| command(&input);
        assert_eq!(read(json!({"command": "ls -l"})).as_deref(), Some("ls -l"));
        assert_eq!(
            read(json!({"command": ["bash", "-lc", "ls | wc"]})).as_deref(),
            Some("ls | wc")
        );
        assert_eq!(
            read(json!({"command": ["rm", "a b"]})).as_deref(),
            Some("rm 'a b'")
        );
        assert_eq!(read(json!({"path": "x"})), None);
    }
}
