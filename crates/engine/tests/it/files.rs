//! Records of the workspace, and secrets.

use std::collections::BTreeMap;

use deft_engine::{CommandError, Conversation, Outfit, Rewind, SecretSources};
use deft_tools::{Effect, Overwrite, Restored, SecretSet};
use deft_types::{Event, EventBody, EventId, Secret, Status, text_of};

use crate::desk::{Desk, said_last, say, settled};

async fn opened(desk: &Desk, outfit: Outfit) -> Conversation {
    let mut parts = desk.parts(Desk::limits()).await;
    parts.outfit = outfit;
    Conversation::open(parts).await.unwrap()
}

#[tokio::test]
async fn the_workspace_can_go_back_to_before_a_turn() {
    let script = r#"
- tool_calls: [{name: terminal, arguments: {command: "echo one > a; cat a"}}]
- tool_calls: [{name: terminal, arguments: {command: "echo two > b"}}]
- text: first done
- tool_calls: [{name: terminal, arguments: {command: "echo three > a; rm b"}}]
- text: second done
"#;
    let desk = Desk::new(script).await;
    let recording = Outfit {
        checkpoints: true,
        ..Outfit::default()
    };
    let conversation = opened(&desk, recording).await;
    desk.run(&conversation).await;
    desk.run(&conversation).await;
    assert_eq!((desk.file("a").trim(), desk.file("b").trim()), ("three", ""));
    let checkpoints = conversation.inspect().await.unwrap().checkpoints;
    assert_eq!(checkpoints.len(), 2, "one a turn");
    let second = checkpoints[1].1;
    let preview = loop {
        match conversation.preview_files(second).await {
            Err(CommandError::Running) => tokio::task::yield_now().await, // what the agent left is being noted
            preview => break preview.unwrap(),
        }
    };
    let told: Vec<_> = preview
        .iter()
        .map(|change| (change.path.as_str(), change.effect))
        .collect();
    assert_eq!(told, [("a", Effect::Modify), ("b", Effect::Create)]);
    conversation
        .restore_files(second, Overwrite::Refuse)
        .await
        .unwrap();
    assert_eq!((desk.file("a").trim(), desk.file("b").trim()), ("one", "two"));
    std::fs::write(desk.executors.work.join("a"), "mine").unwrap();
    let refused = conversation
        .restore_files(checkpoints[0].1, Overwrite::Refuse)
        .await;
    assert!(matches!(refused, Err(CommandError::Workspace(_))), "{refused:?}");
    assert_eq!(desk.file("a"), "mine");
}

#[tokio::test]
async fn what_was_done_in_a_workspace_can_be_done_again() {
    let script = r#"
- tool_calls: [{name: terminal, arguments: {command: "echo one >> kept"}}, {name: think, arguments: {thought: hm}}]
- tool_calls: [{name: file_editor, arguments: {command: create, path: "{work}/made", file_text: two}}]
- tool_calls: [{name: file_editor, arguments: {command: create, path: "{work}/made", file_text: again}}]
- text: done
"#;
    let mut desk = Desk::new("[]").await;
    let script = script.replace("{work}", &desk.executors.work.display().to_string());
    desk = desk.with_script(&script);
    let conversation = desk.open().await;
    desk.run(&conversation).await;
    let seen = async || {
        let events = desk.events().await;
        let is_node = |event: &&Event| !matches!(event.body, EventBody::StateUpdate(_));
        events.iter().filter(is_node).count()
    };
    let before = seen().await;
    std::fs::remove_file(desk.executors.work.join("made")).unwrap();

    let rerun = conversation.rerun().await.unwrap();
    assert_eq!(
        (rerun.done, rerun.of, rerun.stopped),
        (3, 3, None),
        "what failed before may fail again"
    );
    assert_eq!(
        (desk.file("kept"), desk.file("made")),
        ("one\none\n".to_owned(), "two".to_owned())
    );
    let rerun = conversation.rerun().await.unwrap();
    assert_eq!((rerun.done, rerun.of), (1, 3), "{rerun:?}");
    assert!(rerun.stopped.unwrap().starts_with("call 2 (file_editor): "));
    assert_eq!(desk.model.asked(), 4);
    assert_eq!(seen().await, before, "the model sees nothing of it");
}

#[tokio::test]
async fn commands_have_secrets_by_name_and_nobody_sees_them() {
    let script = r#"[{tool_calls: [{name: terminal, arguments: {command: "echo $TOKEN; printf %s $TOKEN | wc -c"}}]}, {text: done}]"#;
    let desk = Desk::new(script).await;
    let secrets = BTreeMap::from([("TOKEN".to_owned(), Secret::new("t0p-secret".to_owned()))]);
    let outfit = Outfit {
        secrets: SecretSources {
            values: SecretSet::new(secrets).unwrap(),
            lookup: None,
        },
        ..Outfit::default()
    };
    let conversation = opened(&desk, outfit).await;
    say(&conversation, "do it").await;
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    let events = desk.events().await;
    let output = events.iter().find_map(|event| match &event.body {
        EventBody::Observation(result) => Some(text_of(&result.observation.content())),
        _ => None,
    });
    assert_eq!(output.as_deref(), Some("<secret-hidden>\n10"));
    assert!(!serde_json::to_string(&events).unwrap().contains("t0p-secret"));
}

#[tokio::test]
async fn files_and_conversation_go_back_together_or_apart() {
    let script = r#"
- tool_calls: [{name: terminal, arguments: {command: "echo one > a"}}]
- text: first done
- tool_calls: [{name: terminal, arguments: {command: "echo two > a"}}]
- text: second done
- tool_calls: [{name: terminal, arguments: {command: "echo three > a"}}]
- text: third done
"#;
    let desk = Desk::new(script).await;
    let recording = Outfit {
        checkpoints: true,
        ..Outfit::default()
    };
    let conversation = opened(&desk, recording).await;
    for _ in 0..3 {
        desk.run(&conversation).await;
    }
    let events = desk.events().await;
    let answers: Vec<_> = events
        .iter()
        .filter(|event| event.source == deft_types::Source::Agent && event.kind() == "MessageEvent")
        .map(|event| event.id.clone())
        .collect();
    let back = async |to: usize, what: Rewind| loop {
        match conversation
            .rewind(answers[to].clone(), what, Overwrite::Refuse)
            .await
        {
            Err(CommandError::Running) => tokio::task::yield_now().await, // what the agent left is being noted
            rewound => break rewound.unwrap(),
        }
    };
    assert!(back(1, Rewind::Conversation).await.is_none());
    assert_eq!(desk.file("a").trim(), "three");
    assert_eq!(
        conversation.inspect().await.unwrap().leaf.as_ref(),
        Some(&answers[1])
    );
    assert!(back(1, Rewind::Files).await.is_some());
    assert_eq!(desk.file("a").trim(), "two");
    assert!(back(0, Rewind::Both).await.is_some());
    assert_eq!(desk.file("a").trim(), "one");
    assert_eq!(
        conversation.inspect().await.unwrap().leaf.as_ref(),
        Some(&answers[0])
    );
    let nowhere = deft_types::EventId("nowhere".to_owned());
    let refused = conversation
        .rewind(nowhere, Rewind::Both, Overwrite::Refuse)
        .await;
    assert!(
        matches!(refused, Err(CommandError::NoSuchEvent(_))),
        "{refused:?}"
    );
}

/// A conversation whose workspace is recorded before each turn.
async fn recorded(desk: &Desk) -> Conversation {
    let recording = Outfit {
        checkpoints: true,
        ..Outfit::default()
    };
    opened(desk, recording).await
}

/// Goes back once what the agent left is noted.
async fn back(
    conversation: &Conversation,
    to: &EventId,
    what: Rewind,
) -> Result<Option<Restored>, CommandError> {
    loop {
        match conversation.rewind(to.clone(), what, Overwrite::Refuse).await {
            Err(CommandError::Running) => tokio::task::yield_now().await,
            rewound => return rewound,
        }
    }
}

#[tokio::test]
async fn what_a_circle_left_in_the_files_goes_when_it_is_rewound() {
    let call = r#"- tool_calls: [{name: terminal, arguments: {command: "echo junk >> junk"}}]"#;
    let script = format!(
        "- tool_calls: [{{name: terminal, arguments: {{command: \"echo one > one\"}}}}]\n{}",
        format!("{call}\n").repeat(5)
    );
    let desk = Desk::new(&script).await;
    let conversation = recorded(&desk).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Stuck);
    let events = desk.events().await;
    let before = events.iter().find_map(|event| match &event.body {
        EventBody::ConversationError(error) => error.extra.get(deft_engine::BEFORE_CIRCLE)?.as_str(),
        _ => None,
    });
    let before = EventId(before.expect("what to rewind to is named").to_owned());
    assert!(!desk.file("junk").is_empty());
    let restored = back(&conversation, &before, Rewind::Both).await.unwrap();
    assert!(restored.is_some());
    assert_eq!(desk.file("junk"), "");
    assert_eq!(conversation.inspect().await.unwrap().leaf, Some(before));
}

#[tokio::test]
async fn a_call_that_was_never_run_has_changed_nothing_before_the_turn() {
    let script = r#"
- tool_calls:
  - {name: terminal, arguments: {command: "echo one > one"}}
  - {name: finish, arguments: {message: done}}
  - {name: terminal, arguments: {command: "echo two > two"}}
"#;
    let desk = Desk::new(script).await;
    let conversation = recorded(&desk).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    assert_eq!(desk.file("one").trim(), "one");
    let said = said_last(&conversation).await;
    assert!(back(&conversation, &said, Rewind::Both).await.unwrap().is_some());
    assert_eq!(desk.file("one"), "");
}

#[tokio::test]
async fn files_of_which_there_is_no_record_are_not_said_to_be_rewound() {
    let script =
        r#"[{tool_calls: [{name: terminal, arguments: {command: "echo one > one"}}]}, {text: done}]"#;
    let desk = Desk::new(script).await;
    let conversation = desk.open().await;
    desk.run(&conversation).await;
    let said = said_last(&conversation).await;
    let refused = back(&conversation, &said, Rewind::Both).await;
    assert!(matches!(&refused, Err(CommandError::Workspace(why)) if why.contains("not recorded")));
    let state = conversation.inspect().await.unwrap();
    assert_ne!(state.leaf, Some(said), "nothing has moved");
}

#[tokio::test]
async fn what_is_no_place_of_the_conversation_leaves_the_files_alone() {
    let script =
        r#"[{tool_calls: [{name: terminal, arguments: {command: "echo one > one"}}]}, {text: done}]"#;
    let desk = Desk::new(script).await;
    let conversation = recorded(&desk).await;
    desk.run(&conversation).await;
    let events = desk.events().await;
    let news = events
        .iter()
        .find(|event| event.kind() == "ConversationStateUpdateEvent");
    let refused = back(&conversation, &news.unwrap().id, Rewind::Both).await;
    assert!(
        matches!(refused, Err(CommandError::NoSuchEvent(_))),
        "{refused:?}"
    );
    assert_eq!(desk.file("one").trim(), "one");
}

#[tokio::test]
async fn what_was_said_last_is_answered_anew_after_a_rewind_to_it() {
    let desk = Desk::new("[{text: an answer}]").await;
    let conversation = desk.open().await;
    desk.run(&conversation).await;
    let state = conversation.inspect().await.unwrap();
    let (said, answer) = (state.last_user_message_id.unwrap(), state.leaf.unwrap());
    back(&conversation, &said, Rewind::Conversation).await.unwrap();
    assert_eq!(conversation.inspect().await.unwrap().status, Status::Idle);
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    let state = conversation.inspect().await.unwrap();
    assert_eq!(desk.model.asked(), 2);
    assert_ne!(state.leaf.as_ref(), Some(&answer), "it is another answer");
    assert_eq!(state, desk.rebuilt().await);
    back(&conversation, &answer, Rewind::Conversation).await.unwrap();
    let state = conversation.inspect().await.unwrap();
    assert_eq!(state.status, Status::Finished, "there is nothing to answer");
}

#[tokio::test]
async fn files_in_the_middle_of_a_turn_are_refused_to_whoever_wants_them_exactly() {
    let script = r#"
- tool_calls: [{name: terminal, arguments: {command: "echo one > one"}}]
- tool_calls: [{name: terminal, arguments: {command: "echo two > two"}}]
- text: done
"#;
    let desk = Desk::new(script).await;
    let conversation = recorded(&desk).await;
    desk.run(&conversation).await;
    let events = desk.events().await;
    let result = events.iter().find(|event| event.kind() == "ObservationEvent");
    let between = &result.unwrap().id;
    let refused = back(&conversation, between, Rewind::FilesExactly).await;
    assert!(matches!(refused, Err(CommandError::InTurn)), "{refused:?}");
    assert_eq!((desk.file("one").trim(), desk.file("two").trim()), ("one", "two"));
    let end = &events
        .iter()
        .rfind(|event| event.kind() == "MessageEvent")
        .unwrap()
        .id;
    assert!(
        back(&conversation, end, Rewind::FilesExactly)
            .await
            .unwrap()
            .is_none()
    );
    let said = said_last(&conversation).await;
    assert!(
        back(&conversation, &said, Rewind::FilesExactly)
            .await
            .unwrap()
            .is_some()
    );
    assert_eq!(
        (desk.file("one"), desk.file("two")),
        (String::new(), String::new())
    );
}
