use serde_json::json;

use super::*;

/// The events of a log, numbered from 0, each with its kind.
fn converted(old: &[Value]) -> Vec<(String, Event)> {
    let numbered = (0..).zip(old.iter().cloned()).collect();
    let all = events(&numbered);
    all.into_iter()
        .map(|event| (event.kind().to_owned(), event))
        .collect()
}

fn kinds(converted: &[(String, Event)]) -> Vec<&str> {
    converted.iter().map(|(kind, _)| kind.as_str()).collect()
}

fn run(command: &str) -> Value {
    json!({"source": "agent", "action": "run", "args": {"command": command, "thought": "hm"}})
}

#[test]
fn each_call_has_one_result_whether_it_is_named_or_not_and_one_that_is_missing_is_said_so() {
    let new = converted(&[
        run("one"),
        json!({"observation": "run", "content": "1", "cause": 0, "extras": {"exit_code": 0}}),
        run("two"),
        json!({"source": "user", "action": "message", "args": {"content": "wait"}}),
        json!({"observation": "run", "content": "2", "extras": {"metadata": {"exit_code": 3}}}),
        run("three"),
        json!({"observation": "run", "content": "again", "cause": 0}),
    ]);
    assert_eq!(
        kinds(&new),
        [
            "ActionEvent",
            "ObservationEvent",
            "ActionEvent",
            "ObservationEvent",
            "MessageEvent",
            "ActionEvent",
            "AgentErrorEvent",
            "MessageEvent",
        ]
    );
    let EventBody::Observation(second) = &new[3].1.body else {
        panic!("{new:?}")
    };
    assert_eq!((second.action_id.0.as_str(), new[3].1.id.0.as_str()), ("2", "4"));
    let EventBody::Message(doubled) = &new[7].1.body else {
        panic!("{new:?}")
    };
    assert_eq!(doubled.llm_message.plain_text(), "[run] again");
}

#[test]
fn a_call_that_waited_for_a_word_is_one_call() {
    let mut waits = run("rm x");
    waits["args"]["confirmation_state"] = json!("awaiting_confirmation");
    let mut rejected = run("rm x");
    rejected["args"] = json!({"command": "rm x", "thought": "", "confirmation_state": "rejected"});
    let new = converted(&[
        waits,
        rejected,
        json!({"observation": "user_rejected", "content": "no", "cause": 1}),
    ]);
    assert_eq!(kinds(&new), ["ActionEvent", "UserRejectObservation"]);
    let EventBody::Action(action) = &new[0].1.body else {
        panic!("{new:?}")
    };
    assert_eq!(action.thought, [Content::text("hm")]);
}

#[test]
fn what_another_agent_did_is_kept_and_not_shown_to_this_one() {
    let new = converted(&[
        json!({"source": "agent", "action": "delegate", "args": {"agent": "B", "inputs": {"task": "x"}}}),
        run("inside"),
        json!({"observation": "run", "content": "1", "cause": 1}),
        json!({"observation": "delegate", "content": "done", "cause": 0}),
    ]);
    let EventBody::Condensation(hidden) = &new.last().unwrap().1.body else {
        panic!("{new:?}")
    };
    assert_eq!(
        hidden.forgotten_event_ids,
        [EventId::from("1"), EventId::from("2")]
    );
}

#[test]
fn what_has_no_form_here_is_text_and_what_was_used_is_counted() {
    let new = converted(&[
        json!({"observation": "loop_detection", "content": "it loops"}),
        json!({"action": "dance", "source": "agent", "args": {"step": 1}, "llm_metrics": {"accumulated_cost": 0.5}}),
        json!({"observation": "agent_state_changed", "extras": {"agent_state": "running"}}),
        unreadable("not JSON"),
    ]);
    let texts: Vec<_> = new
        .iter()
        .filter_map(|(_, event)| match &event.body {
            EventBody::Message(said) => Some(said.llm_message.plain_text()),
            _ => None,
        })
        .collect();
    assert_eq!(texts[..2], ["[loop_detection] it loops", "[dance] {\"step\":1}"]);
    assert!(texts[2].contains("could not be read: not JSON"), "{texts:?}");
    let mut derived = crate::fold::Derived::default();
    for (_, event) in &new {
        derived.fold(event);
    }
    assert_eq!(derived.cost, "0.5".parse().ok());
    assert_eq!(derived.status, Some(Status::Running));
}
