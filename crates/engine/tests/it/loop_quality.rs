//! Whatever a model replies, the run goes on and every call has its result.

use deft_engine::{Conversation, ExecutorFate, Limits};
use deft_types::{Event, EventBody, Source, Status};

use serde_json::json;

use crate::desk::{Desk, assert_paired, budget, say, settled};

fn errors(events: &[Event]) -> Vec<String> {
    let error = |event: &Event| match &event.body {
        EventBody::AgentError(error) => Some(error.error.clone()),
        _ => None,
    };
    events.iter().filter_map(error).collect()
}

/// Runs a script that must finish, and gives back the log.
async fn finishes(script: &str) -> (Desk, Vec<Event>) {
    let desk = Desk::new(script).await;
    let conversation = desk.open().await;
    let progress = desk.run(&conversation).await;
    let events = desk.events().await;
    assert_eq!(progress.status, Status::Finished, "{events:#?}");
    assert_paired(&events);
    assert_eq!(conversation.inspect().await.unwrap(), desk.rebuilt().await);
    conversation.close(ExecutorFate::Keep).await;
    (desk, events)
}

#[tokio::test]
async fn an_unknown_tool_is_answered_with_the_tools_there_are() {
    let (_, events) = finishes(r#"[{tool_calls: [{name: teleport, arguments: {x: 1}}]}]"#).await;
    let errors = errors(&events);
    assert!(
        errors[0].starts_with("Tool 'teleport' not found. Available: ['terminal'"),
        "{errors:?}"
    );
    let EventBody::Action(action) = &events
        .iter()
        .find(|event| event.kind() == "ActionEvent")
        .unwrap()
        .body
    else {
        panic!()
    };
    assert_eq!(action.action, None);
}

#[tokio::test]
async fn invalid_json_is_answered_and_never_sent_back_to_a_provider() {
    let (desk, events) =
        finishes(r#"[{tool_calls: [{name: terminal, arguments: "{\"command\": \"ls"}]}]"#).await;
    assert!(errors(&events)[0].contains("unparseable JSON"));
    let requests = desk.model.requests.lock().unwrap();
    for call in requests
        .iter()
        .flat_map(|request| &request.messages)
        .flat_map(|message| message.tool_calls.iter().flatten())
    {
        serde_json::from_str::<serde_json::Value>(&call.arguments).unwrap();
    }
}

#[tokio::test]
async fn raw_control_characters_in_arguments_do_no_harm() {
    let (desk, _) = finishes(
        "- tool_calls: [{name: terminal, arguments: \"{\\\"command\\\": \\\"printf 'a\\tb' > out\\\"}\"}]",
    )
    .await;
    assert_eq!(desk.file("out"), "a\tb");
}

#[tokio::test]
async fn wrong_arguments_are_named_but_their_values_are_not() {
    let (_, events) = finishes(r#"[{tool_calls: [{name: terminal, arguments: {cmd: s3cret}}]}]"#).await;
    let errors = errors(&events);
    assert!(
        errors[0].contains("`command` is missing") && errors[0].contains("[cmd]"),
        "{errors:?}"
    );
    assert!(!errors[0].contains("s3cret"));
}

#[tokio::test]
async fn fifty_calls_at_once_all_run_in_their_order() {
    let calls: Vec<_> = (0..50)
        .map(|n| format!("{{name: terminal, arguments: {{command: \"echo {n} >> out\"}}}}"))
        .collect();
    let (desk, events) = finishes(&format!("- tool_calls: [{}]", calls.join(", "))).await;
    let expected: String = (0..50).map(|n| format!("{n}\n")).collect();
    assert_eq!(desk.file("out"), expected);
    assert_eq!(
        events
            .iter()
            .filter(|event| event.kind() == "ObservationEvent")
            .count(),
        51
    );
}

#[tokio::test]
async fn two_calls_with_the_same_id_get_a_result_each() {
    let script = r#"
- tool_calls:
  - {name: terminal, id: same, arguments: {command: echo a >> out}}
  - {name: terminal, id: same, arguments: {command: echo b >> out}}
"#;
    let (desk, _) = finishes(script).await;
    assert_eq!(desk.file("out"), "a\nb\n");
}

#[tokio::test]
async fn calls_behind_finish_are_answered_and_never_run() {
    let script = r#"
- tool_calls:
  - {name: finish, arguments: {message: done}}
  - {name: terminal, arguments: {command: echo late > out}}
"#;
    let (desk, events) = finishes(script).await;
    assert!(errors(&events)[0].contains("Not run"));
    let conversation_goes_on = desk.run(&desk.open().await).await;
    assert_eq!(conversation_goes_on.status, Status::Finished);
    assert_eq!(desk.file("out"), "");
}

#[tokio::test]
async fn an_empty_reply_is_nudged_and_three_in_a_row_are_stuck_but_not_the_end() {
    let (_, events) = finishes("[{text: ''}, {tool_calls: [{name: think, arguments: {thought: hm}}]}]").await;
    assert_eq!(
        events
            .iter()
            .filter(|event| event.kind() == "MessageEvent")
            .count(),
        3
    );

    let desk = Desk::new("[{text: ''}, {text: ''}, {reasoning: only thinking}, {text: an answer}]").await;
    let conversation = desk.open().await;
    assert_eq!(desk.run(&conversation).await.status, Status::Stuck);
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    assert_eq!(
        conversation.inspect().await.unwrap().answer.as_deref(),
        Some("an answer")
    );
}

#[tokio::test]
async fn a_text_reply_ends_the_turn() {
    let (_, events) = finishes("[{text: What colour?}]").await;
    assert_eq!(
        events
            .iter()
            .filter(|event| event.kind() == "ActionEvent")
            .count(),
        0
    );
}

#[tokio::test]
async fn invariant_11_the_limit_of_steps_and_the_budget_are_checked_before_the_call() {
    let script = "[{repeat: 20, cost: 0.4, tool_calls: [{name: think, arguments: {thought: 'more {{n}}'}}]}]";
    let desk = Desk::new(script).await;
    let conversation = desk
        .open_with(Limits {
            max_steps: 3,
            ..Desk::limits()
        })
        .await;
    assert_eq!(desk.run(&conversation).await.status, Status::Error);
    assert_eq!(desk.model.asked(), 3);
    // It is not the end: the next run has steps again.
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Error);
    assert_eq!(desk.model.asked(), 6);
    let codes = |events: &[Event], code: &str| {
        events
            .iter()
            .filter(|event| matches!(&event.body, EventBody::ConversationError(error) if error.code == code))
            .count()
    };
    assert_eq!(codes(&desk.events().await, "MaxIterationsReached"), 2);

    let desk = Desk::new(script).await;
    let conversation = desk.open_with(budget(1.0)).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Error);
    assert_eq!(
        desk.model.asked(),
        3,
        "0.4 + 0.4 + 0.4 passes 1.0 after the third call"
    );
    assert_eq!(codes(&desk.events().await, "MaxBudgetReached"), 1);
}

#[tokio::test]
async fn what_a_failed_call_cost_is_counted() {
    let script = "[{text: first, cut_after: 2, cost: 0.5}, {text: second, cost: 0.25}] # retried";
    let desk = Desk::new(script).await;
    let conversation = desk.open().await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    assert_eq!(desk.rebuilt().await.stats.total_cost(), "0.75".parse().unwrap());

    let desk = Desk::new("[{text: first, cut_after: 2, cost: 0.5}]").await;
    let conversation = desk.open().await;
    assert_eq!(desk.run(&conversation).await.status, Status::Error);
    assert_eq!(desk.rebuilt().await.stats.total_cost(), "0.5".parse().unwrap());
}

#[tokio::test]
async fn a_failing_model_ends_the_run_with_its_reason_and_the_next_run_goes_on() {
    let script = r#"
- error: {status: 401, message: bad key}
- text: first
  cut_after: 2
- tool_calls: [{name: terminal, arguments: {command: echo x > out}}]
"#;
    let desk = Desk::new(script).await;
    let conversation = desk.open().await;
    assert_eq!(desk.run(&conversation).await.status, Status::Error);
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Error);
    say(&conversation, "please go on").await;
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert_eq!(desk.file("out"), "x\n");
    let codes: Vec<_> = desk
        .events()
        .await
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::ConversationError(error) => Some(error.code.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(codes[0], "LLMAuthenticationError");
    assert_eq!(codes.len(), 2);
}

#[tokio::test]
async fn calls_are_kept_in_a_form_that_every_provider_takes_back() {
    let script = r#"
- tool_calls:
  - {name: "run command!", arguments: {}}
  - {name: "", arguments: {}}
  - {name: think, arguments: "[1]"}
  - {name: think, arguments: "null"}
"#;
    let (desk, _) = finishes(script).await;
    let requests = desk.model.requests.lock().unwrap();
    let messages = &requests.last().unwrap().messages;
    for call in messages
        .iter()
        .flat_map(|message| message.tool_calls.iter().flatten())
    {
        assert!(
            !call.name.is_empty()
                && call
                    .name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        );
        serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&call.arguments).unwrap();
    }
}

#[tokio::test]
async fn a_log_that_was_cut_off_behind_an_invalid_call_goes_on() {
    let desk = Desk::new("[{tool_calls: [{name: teleport, arguments: {}}]}, {text: fine}]").await;
    let conversation = desk.open().await;
    desk.run(&conversation).await;
    conversation.close(ExecutorFate::Keep).await;
    let events = desk.events().await;
    let action = events
        .iter()
        .position(|event| event.kind() == "ActionEvent")
        .unwrap();

    let cut = Desk::new("[{tool_calls: [{name: teleport, arguments: {}}]}, {text: fine}]").await;
    let lease = cut
        .store
        .acquire(cut.id, &deft_store::Owner::this_process())
        .await
        .unwrap();
    cut.store
        .append(&lease, events[..=action].to_vec())
        .await
        .unwrap();
    cut.store.release(lease).await.unwrap();
    let conversation = cut.open().await;
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert_paired(&cut.events().await);
}

#[tokio::test]
async fn what_was_cut_off_at_its_limit_is_neither_an_answer_nor_run() {
    let script = r#"
- {text: The first half of, finish: length}
- {tool_calls: [{name: terminal, arguments: {command: echo half > out}}], finish: length}
- {text: the answer}
"#;
    let (desk, events) = finishes(script).await;
    assert_eq!(desk.file("out"), "");
    assert!(errors(&events)[0].contains("cut off"));
    assert_eq!(desk.rebuilt().await.answer.as_deref(), Some("the answer"));
}

#[tokio::test]
async fn an_agent_whose_reply_was_refused_is_asked_for_another_but_not_for_ever() {
    for refused in ["{finish: content_filter}", "{error: {kind: content_policy}}"] {
        let (desk, events) = finishes(&format!("[{refused}, {refused}, {{text: fine}}]")).await;
        assert_eq!(desk.model.asked(), 3);
        let nudged = |event: &&Event| match &event.body {
            EventBody::Message(said) => said.llm_message.plain_text().contains("in other words"),
            _ => false,
        };
        assert_eq!(events.iter().filter(nudged).count(), 2, "{refused}");

        let desk = Desk::new(&format!("[{refused}, {refused}, {refused}, {{text: fine}}]")).await;
        let conversation = desk.open().await;
        assert_eq!(desk.run(&conversation).await.status, Status::Error, "{refused}");
        assert_eq!(desk.model.asked(), 3);
        assert_eq!(
            desk.run(&conversation).await.status,
            Status::Finished,
            "{refused}"
        );
    }
}

#[tokio::test]
async fn invalid_json_for_a_tool_by_another_name_is_said_to_be_that() {
    let (_, events) = finishes(r#"[{tool_calls: [{name: bash, arguments: "{\"command\": \"ls"}]}]"#).await;
    let errors = errors(&events);
    assert!(
        errors[0].starts_with("Error validating tool 'terminal'") && errors[0].contains("unparseable JSON"),
        "{errors:?}"
    );
}

#[tokio::test]
async fn calls_that_a_provider_numbers_anew_in_each_reply_have_ids_of_their_own() {
    let script = "[{repeat: 3, tool_calls: [{name: think, id: call_0, arguments: {thought: hm}}]}]";
    let (_, events) = finishes(script).await;
    assert_eq!(
        events
            .iter()
            .filter(|event| event.kind() == "ActionEvent")
            .count(),
        4
    );
}

#[tokio::test]
async fn an_agent_in_a_circle_is_told_then_stopped_and_can_go_on() {
    let script = "[{repeat: 9, text: 'let me try {{n}}', tool_calls: [{name: terminal, arguments: {command: cat nothing}}]}, {text: done}]";
    let desk = Desk::new(script).await;
    let conversation = desk.open().await;
    assert_eq!(desk.run(&conversation).await.status, Status::Stuck);
    assert_eq!(desk.model.asked(), 4);
    let events = desk.events().await;
    let told = events
        .iter()
        .filter(|event| event.source == Source::Environment && matches!(event.body, EventBody::Message(_)));
    assert_eq!(told.count(), 1);
    let reason = events.iter().rev().find_map(|event| match &event.body {
        EventBody::ConversationError(error) => Some(error.detail.clone()),
        _ => None,
    });
    assert!(reason.unwrap().contains("cat nothing"));
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Stuck);
    assert_eq!(desk.model.asked(), 8);
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
}

#[tokio::test]
async fn an_answer_in_a_given_form_is_asked_for_checked_and_kept() {
    let script = r#"
- tool_calls: [{name: finish, arguments: {message: done}}]
- tool_calls: [{name: finish, arguments: {message: done, score: 3}}]
"#;
    let desk = Desk::new(script).await;
    let mut parts = desk.parts(Desk::limits()).await;
    let response =
        json!({"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]});
    parts.responses.insert("finish".to_owned(), response);
    let conversation = Conversation::open(parts).await.unwrap();
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    assert!(errors(&desk.events().await)[0].contains("`score` is missing"));
    let state = desk.rebuilt().await;
    assert_eq!(state.structured_output(), Some(&json!({"score": 3})));
    assert_eq!(state.answer.as_deref(), Some("done"));
}
