//! Messages, pause and interrupt while the agent works, and executors that die.

use std::time::{Duration, Instant};

use deft_engine::{ExecutorFate, Live};
use deft_types::{EventBody, EventId, Message, Role, Status};
use uuid::Uuid;

use crate::desk::{Desk, assert_paired, say, settled};

const WAITS: &str = r#"
- tool_calls: [{name: terminal, arguments: {command: "echo begun > begun; until [ -e go ]; do sleep 0.01; done; echo end"}}]
- tool_calls: [{name: terminal, arguments: {command: echo second > second}}]
"#;

#[tokio::test]
async fn a_message_is_stored_at_once_while_a_tool_runs_and_seen_after_its_result() {
    let desk = Desk::new(WAITS).await;
    let conversation = desk.open().await;
    say(&conversation, "do it").await;
    conversation.run().await.unwrap();
    desk.wait_for_file("begun").await;
    say(&conversation, "be quick").await; // returns although the tool never would
    assert_eq!(desk.model.asked(), 1);
    std::fs::write(desk.executors.work.join("go"), "").unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    let second = desk.model.requests.lock().unwrap()[1].messages.clone();
    let roles: Vec<_> = second.iter().map(|message| message.role).collect();
    assert_eq!(
        roles,
        [Role::System, Role::User, Role::Assistant, Role::Tool, Role::User]
    );
}

#[tokio::test]
async fn a_message_that_comes_while_the_agent_finishes_is_not_overlooked() {
    let desk = Desk::new("[{text: done, delay_ms: 300}, {text: and the second}]").await;
    let conversation = desk.open().await;
    say(&conversation, "first").await;
    conversation.run().await.unwrap();
    while desk.model.asked() == 0 {
        tokio::task::yield_now().await;
    }
    say(&conversation, "second").await;
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert_eq!(
        conversation.inspect().await.unwrap().answer.as_deref(),
        Some("and the second")
    );
}

#[tokio::test]
async fn the_same_message_sent_twice_is_there_once() {
    let desk = Desk::new("[]").await;
    let conversation = desk.open().await;
    let id = EventId::from(Uuid::new_v4());
    for _ in 0..2 {
        conversation
            .send(id.clone(), Message::text(Role::User, "once"))
            .await
            .unwrap();
    }
    let messages = desk
        .events()
        .await
        .iter()
        .filter(|event| matches!(event.body, EventBody::Message(_)))
        .count();
    assert_eq!(messages, 1);
    assert_eq!(conversation.inspect().await.unwrap(), desk.rebuilt().await);
}

#[tokio::test]
async fn an_interrupt_stops_a_stalled_model_at_once() {
    let desk = Desk::new("[{stall: true}, {text: hello}]").await;
    let conversation = desk.open().await;
    say(&conversation, "do it").await;
    conversation.run().await.unwrap();
    while desk.model.asked() == 0 {
        tokio::task::yield_now().await;
    }
    let start = Instant::now();
    conversation.interrupt().await.unwrap();
    assert!(
        start.elapsed() < Duration::from_millis(300),
        "took {:?}",
        start.elapsed()
    );
    assert_eq!(settled(&conversation).await.status, Status::Paused);
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
}

#[tokio::test]
async fn what_was_said_of_a_reply_that_is_interrupted_is_kept_and_marked() {
    let script = "[{text: It begins well and goes on for long, chunk_delay_ms: 20000}, {text: hello}]";
    let desk = Desk::new(script).await;
    let conversation = desk.open().await;
    let mut live = conversation.live();
    say(&conversation, "do it").await;
    conversation.run().await.unwrap();
    let shown = loop {
        if let Live::Delta { item, .. } = live.recv().await.unwrap() {
            break item;
        }
    };
    conversation.interrupt().await.unwrap();
    let events = desk.events().await;
    let kept = events.iter().find(|event| event.id == shown).expect("it is lost");
    let EventBody::Message(said) = &kept.body else {
        panic!("{kept:?}");
    };
    assert_eq!(said.llm_message.plain_text(), "It begins we");
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    let request = desk.model.requests.lock().unwrap().last().cloned().unwrap();
    let told: Vec<_> = request
        .messages
        .iter()
        .map(|message| message.plain_text())
        .collect();
    assert_eq!(
        told[told.len() - 2..],
        ["It begins we", "[The user interrupted your reply here.]"]
    );
}

#[tokio::test]
async fn what_was_said_is_kept_by_an_interrupt_behind_a_pause_and_so_is_what_was_thought() {
    for (script, said, thought) in [
        (
            "{text: It begins well and goes on for long, chunk_delay_ms: 20000}",
            "It begins we",
            None,
        ),
        (
            "{reasoning: I wonder whether this is right, text: no, chunk_delay_ms: 20000}",
            "",
            Some("I wonder whe"),
        ),
    ] {
        let desk = Desk::new(&format!("[{script}]")).await;
        let conversation = desk.open().await;
        let mut live = conversation.live();
        say(&conversation, "do it").await;
        conversation.run().await.unwrap();
        let shown = loop {
            if let Live::Delta { item, .. } = live.recv().await.unwrap() {
                break item;
            }
        };
        conversation.pause().await.unwrap();
        conversation.interrupt().await.unwrap();
        let events = desk.events().await;
        let kept = events.iter().find(|event| event.id == shown).expect("it is lost");
        let EventBody::Message(message) = &kept.body else {
            panic!("{kept:?}");
        };
        assert_eq!(message.llm_message.plain_text(), said);
        assert_eq!(message.llm_message.reasoning_content.as_deref(), thought);
        assert!(
            events
                .iter()
                .any(|event| matches!(event.body, EventBody::Interrupt(_)))
        );
        assert_eq!(conversation.inspect().await.unwrap(), desk.rebuilt().await);
    }
}

#[tokio::test]
async fn an_interrupt_stops_a_command_and_every_call_has_its_result() {
    let script = r#"
- tool_calls:
  - {name: terminal, arguments: {command: "sh -c 'echo $$ > begun; exec sleep 600'"}}
  - {name: terminal, arguments: {command: echo never > never}}
- text: fine
"#;
    let desk = Desk::new(script).await;
    let conversation = desk.open().await;
    say(&conversation, "do it").await;
    conversation.run().await.unwrap();
    desk.wait_for_file("begun").await;
    let status = format!("/proc/{}/status", desk.file("begun").trim());
    let lives = || std::fs::read_to_string(&status).is_ok_and(|status| !status.contains("State:\tZ"));
    assert!(lives());
    let start = Instant::now();
    conversation.interrupt().await.unwrap();
    while lives() && start.elapsed() < Duration::from_secs(3) {
        tokio::task::yield_now().await;
    }
    assert!(
        start.elapsed() < Duration::from_secs(3),
        "took {:?}",
        start.elapsed()
    );
    assert_eq!(settled(&conversation).await.status, Status::Paused);
    assert_paired(&desk.events().await);

    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert_eq!(desk.file("never"), "");
    assert_paired(&desk.events().await);
    assert_eq!(conversation.inspect().await.unwrap(), desk.rebuilt().await);
}

#[tokio::test]
async fn a_pause_lets_the_call_finish_and_the_next_run_goes_on_behind_it() {
    let desk = Desk::new(WAITS).await;
    let conversation = desk.open().await;
    say(&conversation, "do it").await;
    conversation.run().await.unwrap();
    desk.wait_for_file("begun").await;
    conversation.pause().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Paused);
    std::fs::write(desk.executors.work.join("go"), "").unwrap();
    while !desk
        .events()
        .await
        .iter()
        .any(|event| matches!(event.body, EventBody::Observation(_)))
    {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(desk.file("second"), "");
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert_eq!(desk.file("second"), "second\n");
}

#[tokio::test]
async fn invariant_3_a_call_whose_executor_dies_is_lost_said_so_and_never_repeated() {
    let script = r#"
- tool_calls: [{name: terminal, arguments: {command: "echo begun >> begun; sleep 600"}}]
- tool_calls: [{name: terminal, arguments: {command: echo alive > alive}}]
"#;
    let desk = Desk::new(script).await;
    let conversation = desk.open().await;
    say(&conversation, "do it").await;
    conversation.run().await.unwrap();
    desk.wait_for_file("begun").await;
    desk.executors.die();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert_eq!(
        (desk.file("begun"), desk.file("alive")),
        ("begun\n".to_owned(), "alive\n".to_owned())
    );
    let events = desk.events().await;
    assert_paired(&events);
    assert!(
        events
            .iter()
            .any(|event| matches!(&event.body, EventBody::AgentError(lost) if lost.error.contains("gone")))
    );
}

#[tokio::test]
async fn a_command_goes_on_without_us_and_its_result_is_collected_when_we_are_back() {
    let desk = Desk::new(WAITS).await;
    let conversation = desk.open().await;
    say(&conversation, "do it").await;
    conversation.run().await.unwrap();
    desk.wait_for_file("begun").await;
    conversation.close(ExecutorFate::Keep).await;

    std::fs::write(desk.executors.work.join("go"), "").unwrap();
    let conversation = desk.open().await;
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert_eq!(desk.file("begun"), "begun\n");
    let events = desk.events().await;
    assert_paired(&events);
    let collected = |event: &deft_types::Event| match &event.body {
        EventBody::Observation(result) => deft_types::text_of(&result.observation.content()) == "end",
        _ => false,
    };
    assert!(events.iter().any(collected), "{events:#?}");
}

#[tokio::test]
async fn a_wait_for_the_next_attempt_is_shown_and_the_half_reply_leaves_no_trace() {
    let desk =
        Desk::new("# retried\n[{text: a reply that breaks off, cut_after: 7}, {text: a whole reply}]").await;
    let conversation = desk.open().await;
    let mut live = conversation.live();
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    assert_eq!(
        conversation.inspect().await.unwrap().answer.as_deref(),
        Some("a whole reply")
    );
    let mut retries = Vec::new();
    while let Ok(piece) = live.try_recv() {
        if let Live::Retry { attempt, reason, .. } = piece {
            retries.push((attempt, reason));
        }
    }
    assert_eq!(retries.len(), 1);
    assert!(
        retries[0].0 == 2 && retries[0].1.contains("broke off"),
        "{retries:?}"
    );
}

#[tokio::test]
async fn a_message_said_while_a_reply_is_written_stands_behind_that_reply() {
    let script = r#"
- delay_ms: 200
  tool_calls: [{name: terminal, arguments: {command: echo hi}}]
- text: seen
"#;
    let desk = Desk::new(script).await;
    let conversation = desk.open().await;
    say(&conversation, "first").await;
    conversation.run().await.unwrap();
    while desk.model.asked() == 0 {
        tokio::task::yield_now().await;
    }
    say(&conversation, "second").await;
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    let roles = |request: usize| -> Vec<_> {
        desk.model.requests.lock().unwrap()[request]
            .messages
            .iter()
            .map(|message| message.role)
            .collect()
    };
    assert_eq!(
        roles(1),
        [Role::System, Role::User, Role::Assistant, Role::Tool, Role::User]
    );
    assert_eq!(conversation.inspect().await.unwrap(), desk.rebuilt().await);
}

#[tokio::test]
async fn a_message_that_came_before_a_crash_is_not_overlooked_after_it() {
    let script = r#"
- tool_calls:
  - {name: terminal, arguments: {command: "echo begun > begun; until [ -e go ]; do sleep 0.01; done"}}
  - {name: finish, arguments: {message: done}}
- text: and the second
"#;
    let desk = Desk::new(script).await;
    let conversation = desk.open().await;
    say(&conversation, "first").await;
    conversation.run().await.unwrap();
    desk.wait_for_file("begun").await;
    say(&conversation, "second").await;
    conversation.close(ExecutorFate::Keep).await;
    std::fs::write(desk.executors.work.join("go"), "").unwrap();

    let conversation = desk.open().await;
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert_eq!(
        conversation.inspect().await.unwrap().answer.as_deref(),
        Some("and the second")
    );
}

#[tokio::test]
async fn a_call_that_was_interrupted_before_it_began_does_not_begin_later() {
    for _ in 0..12 {
        let script =
            r#"[{tool_calls: [{name: terminal, arguments: {command: "sleep 0.4; echo ran > ran"}}]}]"#;
        let desk = Desk::new(script).await;
        let conversation = desk.open().await;
        say(&conversation, "do it").await;
        conversation.run().await.unwrap();
        while !desk
            .events()
            .await
            .iter()
            .any(|event| event.kind() == "ActionEvent")
        {
            tokio::task::yield_now().await;
        }
        conversation.interrupt().await.unwrap();
        assert_paired(&desk.events().await);
        tokio::time::sleep(Duration::from_millis(600)).await; // longer than the command would take
        assert_eq!(desk.file("ran"), "");
    }
}

#[tokio::test]
async fn an_executor_that_died_between_two_calls_costs_nothing() {
    let script = r#"
- tool_calls: [{name: terminal, arguments: {command: echo one >> out}}]
- delay_ms: 200
  tool_calls: [{name: terminal, arguments: {command: echo two >> out}}]
"#;
    let desk = Desk::new(script).await;
    let conversation = desk.open().await;
    say(&conversation, "do it").await;
    conversation.run().await.unwrap();
    while desk.model.asked() < 2 {
        tokio::task::yield_now().await;
    }
    desk.executors.die();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert_eq!(desk.file("out"), "one\ntwo\n");
}

#[tokio::test]
async fn running_a_conversation_in_which_nothing_was_said_asks_nobody() {
    let desk = Desk::new("[]").await;
    let conversation = desk.open().await;
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Idle);
    assert_eq!(desk.model.asked(), 0);
}

#[tokio::test]
async fn another_model_answers_from_the_next_call_on_and_the_log_says_so() {
    let desk = Desk::new(
        "[{delay_ms: 100, tool_calls: [{name: think, arguments: {thought: hm}}]}, {text: not mine}]",
    )
    .await;
    let other = Desk::new("[{text: first turn}, {text: from the other}]").await;
    let conversation = desk.open().await;
    say(&conversation, "do it").await;
    conversation.run().await.unwrap();
    while desk.model.asked() == 0 {
        tokio::task::yield_now().await;
    }
    conversation
        .switch_model("other".to_owned(), other.model.clone())
        .await
        .unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    let state = conversation.inspect().await.unwrap();
    assert_eq!(state.answer.as_deref(), Some("from the other"));
    assert_eq!(state.model.as_deref(), Some("other"));
    assert_eq!(state, desk.rebuilt().await);
}

#[tokio::test]
async fn text_and_calls_are_shown_as_they_come_under_the_id_that_the_event_gets() {
    let desk =
        Desk::new("[{text: I look around., tool_calls: [{name: terminal, arguments: {command: echo hi}}]}]")
            .await;
    let conversation = desk.open().await;
    let mut live = conversation.live();
    desk.run(&conversation).await;
    let events = desk.events().await;
    let first = &events
        .iter()
        .find(|event| event.kind() == "ActionEvent")
        .unwrap()
        .id;
    let (mut text, mut arguments) = (String::new(), String::new());
    while let Ok(piece) = live.try_recv() {
        match piece {
            Live::Delta {
                item, text: piece, ..
            } if item == *first => text.push_str(&piece),
            Live::CallDelta {
                item,
                arguments: piece,
                ..
            } if item == *first => arguments.push_str(&piece),
            _ => {}
        }
    }
    assert_eq!(
        (text.as_str(), arguments.as_str()),
        ("I look around.", r#"{"command":"echo hi"}"#)
    );
}

#[tokio::test]
async fn a_pause_lets_all_calls_of_the_step_end_and_asks_the_model_nothing_more() {
    let script = r#"
- tool_calls:
  - {name: terminal, arguments: {command: "touch begun; echo x > begun; until [ -e go ]; do sleep 0.01; done"}}
  - {name: think, arguments: {thought: so}}
  - {name: terminal, arguments: {command: echo second > second}}
- text: never asked for
"#;
    let desk = Desk::new(script).await;
    let conversation = desk.open().await;
    say(&conversation, "do it").await;
    conversation.run().await.unwrap();
    desk.wait_for_file("begun").await;
    conversation.pause().await.unwrap();
    std::fs::write(desk.executors.work.join("go"), "").unwrap();
    while conversation.inspect().await.unwrap().open_calls() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(desk.file("second").trim(), "second");
    assert_eq!(conversation.inspect().await.unwrap().status, Status::Paused);
    assert_eq!(desk.model.asked(), 1);
    assert_paired(&desk.events().await);
}
