//! Several calls in one reply, and tools that run beside the engine.

use std::sync::Arc;
use std::time::Duration;

use deft_engine::{ClientResults, ClientTool, ClientToolSpec, Conversation};
use deft_tools::{Call, Reach, Tool, ToolError, Toolbox, Touches, spec};
use deft_types::{
    Action, ClientToolObservation, Content, EventBody, MCPToolObservation, Observation, Status, ToolSpec,
    text_of,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;
use tokio::sync::{Barrier, Mutex};

use crate::desk::{Desk, assert_paired, say, settled};

/// A tool whose calls wait until two of them are there, or have the place for themselves.
struct Meeting {
    both: Barrier,
    alone: Mutex<()>,
}

impl Tool for Meeting {
    fn spec(&self) -> ToolSpec {
        let properties = json!({
            "name": {"type": "string", "description": "Who."},
            "alone": {"type": "boolean", "description": "Whether nobody else may be there."},
        });
        spec("meet", "MCPTool", Reach::Files, "Meets.", &properties, &["name"])
    }

    fn touches(&self, action: &Action) -> Touches {
        if said(action, "alone") == "true" {
            Touches::Only("meeting".to_owned())
        } else {
            Touches::Nothing
        }
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            if said(&call.action, "alone") == "true" {
                let _place = self.alone.try_lock().expect("somebody else is there");
                tokio::time::sleep(Duration::from_millis(20)).await;
            } else {
                tokio::select! {
                    _ = self.both.wait() => {}
                    () = call.cancel.cancelled() => return Err(ToolError::Cancelled),
                }
            }
            let text = format!("{} was there", said(&call.action, "name"));
            Ok(MCPToolObservation {
                content: vec![Content::text(text)],
                tool_name: "meet".to_owned(),
                ..MCPToolObservation::default()
            }
            .into())
        }
        .boxed()
    }
}

fn said(action: &Action, field: &str) -> String {
    let Action::MCPTool(action) = action else {
        panic!("{action:?}");
    };
    match action.data.get(field) {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

async fn opened(desk: &Desk) -> Conversation {
    let mut parts = desk.parts(Desk::limits()).await;
    parts.host = Toolbox::host().with(Arc::new(Meeting {
        both: Barrier::new(2),
        alone: Mutex::default(),
    }));
    Conversation::open(parts).await.unwrap()
}

async fn results(desk: &Desk) -> Vec<String> {
    let events = desk.events().await;
    assert_paired(&events);
    let text = |body: &EventBody| match body {
        EventBody::Observation(result) => Some(text_of(&result.observation.content())),
        EventBody::AgentError(error) => Some(error.error.clone()),
        _ => None,
    };
    events.iter().filter_map(|event| text(&event.body)).collect()
}

#[tokio::test]
async fn calls_that_touch_nothing_in_common_run_together_and_answer_in_their_order() {
    let script = "[{tool_calls: [{name: meet, arguments: {name: Ann}}, {name: meet, arguments: {name: Bob}}]}, {text: done}]";
    let desk = Desk::new(script).await;
    let conversation = opened(&desk).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    assert_eq!(results(&desk).await, ["Ann was there", "Bob was there"]);
}

#[tokio::test]
async fn calls_that_touch_the_same_run_one_after_the_other() {
    let script = "[{tool_calls: [{name: meet, arguments: {name: Ann, alone: true}}, {name: meet, arguments: {name: Bob, alone: true}}]}, {text: done}]";
    let desk = Desk::new(script).await;
    let conversation = opened(&desk).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    assert_eq!(results(&desk).await, ["Ann was there", "Bob was there"]);
}

#[tokio::test]
async fn a_call_sees_what_the_calls_before_it_did_wherever_they_run() {
    let script = r#"
- tool_calls:
  - {name: terminal, arguments: {command: "sleep 0.1; echo one > file"}}
  - {name: terminal, arguments: {command: "cat file; echo two >> file"}}
  - {name: think, arguments: {thought: so}}
  - {name: terminal, arguments: {command: "cat file"}}
- text: done
"#;
    let desk = Desk::new(script).await;
    let conversation = desk.open().await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    let results = results(&desk).await;
    assert!(
        results[1].starts_with("one") && results[3].starts_with("one\ntwo"),
        "{results:?}"
    );
}

#[tokio::test]
async fn an_interrupt_ends_every_call_of_a_reply_and_the_log_says_so() {
    let script = r#"
- tool_calls:
  - {name: meet, arguments: {name: Ann}}
  - {name: terminal, arguments: {command: echo never > never}}
- text: done
"#;
    let desk = Desk::new(script).await;
    let conversation = opened(&desk).await;
    say(&conversation, "do it").await;
    conversation.run().await.unwrap();
    while conversation.inspect().await.unwrap().open_calls() == 0 {
        tokio::task::yield_now().await;
    }
    conversation.interrupt().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Paused);
    assert_eq!(results(&desk).await.len(), 2);
    assert_eq!(desk.file("never"), "");
}

fn client_tool(result_timeout: Option<u64>) -> (ClientResults, Arc<dyn Tool>) {
    let spec = ClientToolSpec {
        name: "ask_user".to_owned(),
        description: "Asks.".to_owned(),
        parameters: json!({"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]}),
        annotations: None,
        result_timeout,
    };
    let results = ClientResults::default();
    (results.clone(), Arc::new(ClientTool::new(spec, results)))
}

const ASKS: &str = "[{tool_calls: [{name: ask_user, arguments: {question: why}}]}, {text: done}]";

#[tokio::test]
async fn a_call_of_a_client_tool_is_answered_as_passed_on() {
    let desk = Desk::new(ASKS).await;
    let mut parts = desk.parts(Desk::limits()).await;
    parts.host = Toolbox::host().with(client_tool(None).1);
    let conversation = Conversation::open(parts).await.unwrap();
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    assert_eq!(results(&desk).await, ["Tool call dispatched to client."]);
    let events = desk.events().await;
    let kind = events.iter().find_map(|event| match &event.body {
        EventBody::Action(action) => action.action.as_ref().map(|action| action.kind().to_owned()),
        _ => None,
    });
    assert_eq!(kind.as_deref(), Some("ClientAction_ask_user"));
}

#[tokio::test]
async fn a_client_that_wants_to_can_hand_a_result_back() {
    let desk = Desk::new(ASKS).await;
    let mut parts = desk.parts(Desk::limits()).await;
    let (answers, tool) = client_tool(Some(60));
    parts.host = Toolbox::host().with(tool);
    let conversation = Conversation::open(parts).await.unwrap();
    say(&conversation, "do it").await;
    conversation.run().await.unwrap();
    let call = loop {
        let events = desk.events().await;
        let call = events
            .iter()
            .find(|event| matches!(event.body, EventBody::Action(_)));
        if let Some(call) = call {
            break call.id.clone();
        }
        tokio::task::yield_now().await;
    };
    let result = || ClientToolObservation {
        content: vec![Content::text("because")],
        ..ClientToolObservation::default()
    };
    while !answers.give(&call, result()) {
        tokio::task::yield_now().await;
    }
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert_eq!(results(&desk).await, ["because"]);
    assert!(!answers.give(&call, result()), "it waits no more");
}

/// Ends at once, or not before it is dropped, whatever it is told.
struct Stubborn;

impl Tool for Stubborn {
    fn spec(&self) -> ToolSpec {
        let properties = json!({"name": {"type": "string", "description": "Who."}});
        spec(
            "insist",
            "MCPTool",
            Reach::Files,
            "Insists.",
            &properties,
            &["name"],
        )
    }

    fn touches(&self, _: &Action) -> Touches {
        Touches::Nothing
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            call.output.send(b"begun");
            if said(&call.action, "name") == "Ann" {
                std::future::pending::<()>().await;
            }
            Ok(MCPToolObservation {
                content: vec![Content::text("it was done")],
                tool_name: "insist".to_owned(),
                ..MCPToolObservation::default()
            }
            .into())
        }
        .boxed()
    }
}

#[tokio::test]
async fn a_call_that_does_not_stop_keeps_nobody_elses_result() {
    let script = "[{tool_calls: [{name: insist, arguments: {name: Ann}}, {name: insist, arguments: {name: Bob}}]}, {text: done}]";
    let desk = Desk::new(script).await;
    let mut parts = desk.parts(Desk::limits()).await;
    parts.host = Toolbox::host().with(Arc::new(Stubborn));
    let conversation = Conversation::open(parts).await.unwrap();
    let mut live = conversation.live();
    say(&conversation, "do it").await;
    conversation.run().await.unwrap();
    for _ in 0..2 {
        while !matches!(live.recv().await.unwrap(), deft_engine::Live::Output { .. }) {}
    }
    conversation.interrupt().await.unwrap();
    assert_eq!(
        results(&desk).await,
        ["it was done", "Interrupted by the user before it was completed."]
    );
}
