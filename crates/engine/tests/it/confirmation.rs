//! Actions that wait for a person's word.

use deft_engine::{AllowScope, Answer, CommandError, Conversation, Safety, allow_rules};
use deft_types::{
    ActionId, ConfirmationPolicy, EventBody, SecurityAnalyzer, SecurityRisk, Status, ToolCall, text_of,
};
use serde_json::json;

use crate::desk::{Desk, assert_paired, settled};

const TWO: &str = r#"
- tool_calls:
  - {name: terminal, arguments: {command: echo one > one, security_risk: LOW}}
  - {name: terminal, arguments: {command: echo two > two, security_risk: HIGH}}
- text: done
"#;

fn always() -> Safety {
    Safety {
        policy: ConfirmationPolicy::AlwaysConfirm,
        analyzer: None,
    }
}

fn risky() -> Safety {
    Safety {
        policy: ConfirmationPolicy::ConfirmRisky {
            threshold: SecurityRisk::High,
            confirm_unknown: true,
        },
        analyzer: Some(SecurityAnalyzer::Model),
    }
}

async fn opened(desk: &Desk, safety: Safety) -> Conversation {
    let mut parts = desk.parts(Desk::limits()).await;
    parts.safety = safety;
    Conversation::open(parts).await.unwrap()
}

async fn calls(desk: &Desk) -> Vec<(ActionId, ToolCall)> {
    let events = desk.events().await;
    let call = |event: &deft_types::Event| match &event.body {
        EventBody::Action(action) => Some((event.id.clone(), action.tool_call.clone())),
        _ => None,
    };
    events.iter().filter_map(call).collect()
}

#[tokio::test]
async fn nothing_of_a_reply_runs_before_the_word_and_all_of_it_after() {
    let desk = Desk::new(TWO).await;
    let conversation = opened(&desk, risky()).await;
    let waiting = desk.run(&conversation).await.status;
    assert_eq!(waiting, Status::WaitingForConfirmation);
    assert_eq!(
        (desk.file("one"), desk.file("two")),
        (String::new(), String::new())
    );
    let events = desk.events().await;
    let verdicts = events.iter().find_map(|event| match &event.body {
        EventBody::SecurityAnalysis(analysis) => Some(analysis.risks.values().copied().collect::<Vec<_>>()),
        _ => None,
    });
    assert_eq!(verdicts.unwrap().len(), 2);
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert_eq!((desk.file("one").trim(), desk.file("two").trim()), ("one", "two"));
    assert_paired(&desk.events().await);
}

#[tokio::test]
async fn what_is_not_risky_is_not_asked_for() {
    let desk = Desk::new(
        "[{tool_calls: [{name: terminal, arguments: {command: ls, security_risk: MEDIUM}}]}, {text: done}]",
    )
    .await;
    let conversation = opened(&desk, risky()).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
}

#[tokio::test]
async fn a_models_own_estimate_is_kept_only_where_somebody_judges() {
    use SecurityRisk::{High, Low, Unknown};
    for (safety, expected) in [(always(), [Unknown, Unknown]), (risky(), [Low, High])] {
        let desk = Desk::new(TWO).await;
        let conversation = opened(&desk, safety).await;
        desk.run(&conversation).await;
        let events = desk.events().await;
        let risks = events.iter().filter_map(|event| match &event.body {
            EventBody::Action(action) => Some(action.security_risk),
            _ => None,
        });
        assert_eq!(risks.collect::<Vec<_>>(), expected);
    }
}

#[tokio::test]
async fn each_action_can_be_allowed_refused_or_changed() {
    let desk = Desk::new(TWO).await;
    let conversation = opened(&desk, always()).await;
    desk.run(&conversation).await;
    let calls = calls(&desk).await;
    let undecided = conversation
        .respond(vec![(calls[0].0.clone(), Answer::Approve)])
        .await;
    assert!(matches!(undecided, Err(CommandError::Undecided(id)) if id == calls[1].0));
    let reject = Answer::Reject {
        reason: "not that file".to_owned(),
    };
    let edit = Answer::Edit {
        arguments: serde_json::from_value(json!({"command": "echo three > three"})).unwrap(),
    };
    let answers = vec![(calls[0].0.clone(), reject), (calls[1].0.clone(), edit)];
    conversation.respond(answers).await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert_eq!(desk.file("three").trim(), "three");
    assert_eq!(
        (desk.file("one"), desk.file("two")),
        (String::new(), String::new())
    );
    assert_paired(&desk.events().await);
    let seen = desk.model.requests.lock().unwrap()[1].messages.clone();
    let seen: Vec<_> = seen.iter().map(|message| text_of(&message.content)).collect();
    assert!(seen.iter().any(|text| text.contains("not that file")), "{seen:?}");
}

#[tokio::test]
async fn a_refusal_waits_for_the_user_and_an_edit_must_fit_the_tool() {
    let desk = Desk::new(TWO).await;
    let conversation = opened(&desk, always()).await;
    desk.run(&conversation).await;
    let calls = calls(&desk).await;
    let edit = Answer::Edit {
        arguments: serde_json::from_value(json!({"cmd": 1})).unwrap(),
    };
    let answers = calls.iter().map(|(id, _)| (id.clone(), edit.clone())).collect();
    let refused = conversation.respond(answers).await;
    assert!(matches!(refused, Err(CommandError::BadEdit(_))), "{refused:?}");
    conversation.reject("no".to_owned()).await.unwrap();
    assert_eq!(conversation.inspect().await.unwrap().status, Status::Idle);
    assert_paired(&desk.events().await);
    conversation.reject("no".to_owned()).await.unwrap(); // nothing waits
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
}

#[tokio::test]
async fn what_waits_still_waits_after_a_restart_and_runs_once() {
    let desk =
        Desk::new("[{tool_calls: [{name: terminal, arguments: {command: echo x >> x}}]}, {text: done}]")
            .await;
    let conversation = opened(&desk, always()).await;
    desk.run(&conversation).await;
    conversation.close(deft_engine::ExecutorFate::End).await;
    let conversation = opened(&desk, always()).await;
    assert_eq!(
        conversation.inspect().await.unwrap().status,
        Status::WaitingForConfirmation
    );
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert_eq!(desk.file("x"), "x\n");
}

#[tokio::test]
async fn the_policy_can_be_changed_and_the_log_remembers_it() {
    let desk = Desk::new(TWO).await;
    let conversation = opened(&desk, always()).await;
    conversation
        .set_policy(ConfirmationPolicy::NeverConfirm)
        .await
        .unwrap();
    conversation
        .set_analyzer(Some(SecurityAnalyzer::Model))
        .await
        .unwrap();
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    let state = desk.rebuilt().await;
    assert_eq!(state.policy, Some(ConfirmationPolicy::NeverConfirm));
    assert_eq!(state.analyzer, Some(Some(SecurityAnalyzer::Model)));
}

/// Two commands a reply, three replies.
const AGAIN: &str = r"
- tool_calls: [{name: terminal, arguments: {command: git status; echo one >> ran}}]
- tool_calls: [{name: terminal, arguments: {command: echo two >> ran}}]
- tool_calls: [{name: terminal, arguments: {command: rm -rf /}}]
- text: done
";

#[tokio::test]
async fn what_was_allowed_is_not_asked_for_again_and_a_catastrophe_always_is() {
    let desk = Desk::new(AGAIN).await;
    let conversation = opened(&desk, always()).await;
    conversation
        .allow("echo one >> ran", AllowScope::Conversation)
        .await
        .unwrap();
    conversation.allow("rm", AllowScope::Project).await.unwrap();
    // One of two commands is covered: that is not enough.
    assert_eq!(
        desk.run(&conversation).await.status,
        Status::WaitingForConfirmation
    );
    conversation
        .allow("git status", AllowScope::Project)
        .await
        .unwrap();
    conversation
        .allow("echo two >> ran", AllowScope::Project)
        .await
        .unwrap();
    conversation.run().await.unwrap();
    // The second command ran unasked; the third waits although it is covered.
    assert_eq!(
        settled(&conversation).await.status,
        Status::WaitingForConfirmation
    );
    assert_eq!(desk.file("ran"), "one\ntwo\n");
    assert_eq!(desk.rebuilt().await, conversation.inspect().await.unwrap());

    let rules = allow_rules(desk.store.as_ref(), desk.id).await.unwrap();
    let rules: Vec<_> = rules
        .iter()
        .map(|allowed| (allowed.rule.as_str(), allowed.scope))
        .collect();
    let project = |rule| (rule, AllowScope::Project);
    let own = ("echo one >> ran", AllowScope::Conversation);
    assert_eq!(
        rules,
        [
            own,
            project("rm"),
            project("git status"),
            project("echo two >> ran")
        ]
    );
    assert!(conversation.disallow("rm".to_owned()).await.unwrap());
    assert!(!conversation.disallow("rm".to_owned()).await.unwrap());
    let refused = conversation.allow("sudo", AllowScope::Project).await.unwrap_err();
    assert!(matches!(refused, CommandError::BadRule(_)), "{refused}");
}

#[tokio::test]
async fn how_long_a_person_thinks_is_no_time_of_the_run() {
    let desk = Desk::new(TWO).await;
    let most = std::time::Duration::from_secs(2);
    let limits = deft_engine::Limits {
        max_time: Some(most),
        ..Desk::limits()
    };
    let mut parts = desk.parts(limits).await;
    parts.safety = always();
    let conversation = Conversation::open(parts).await.unwrap();
    assert_eq!(
        desk.run(&conversation).await.status,
        Status::WaitingForConfirmation
    );
    tokio::time::sleep(most).await;
    let answers = calls(&desk).await.into_iter();
    let answers = answers.map(|(id, _)| (id, Answer::Approve)).collect();
    conversation.respond(answers).await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
}

#[tokio::test]
async fn a_command_is_judged_where_the_shell_stands() {
    let script = r#"
- tool_calls: [{name: terminal, arguments: {command: cd /etc}}]
- tool_calls: [{name: terminal, arguments: {command: touch no-such-directory/x}}]
- tool_calls:
  - {name: terminal, arguments: {command: mkdir -p inner && cd inner}}
  - {name: terminal, arguments: {command: touch ../there}}
  - {name: terminal, arguments: {command: cd /etc}}
  - {name: terminal, arguments: {command: touch no-such-directory/y}}
- text: done
"#;
    let desk = Desk::new(script).await;
    let by_rules = Safety {
        analyzer: Some(SecurityAnalyzer::Pattern(deft_types::Extra::new())),
        policy: ConfirmationPolicy::ConfirmRisky {
            threshold: SecurityRisk::Medium,
            confirm_unknown: true,
        },
    };
    let conversation = opened(&desk, by_rules).await;
    let waits = async |command: &str| {
        let status = settled(&conversation).await.status;
        assert_eq!(status, Status::WaitingForConfirmation, "{command}");
        let calls = calls(&desk).await;
        assert!(calls.last().unwrap().1.arguments.contains(command), "{calls:?}");
    };
    desk.run(&conversation).await;
    waits("touch no-such-directory").await;

    let back = format!("cd {}", desk.executors.work.display());
    let edit = Answer::Edit {
        arguments: json!({"command": back}).as_object().unwrap().clone(),
    };
    let (id, _) = calls(&desk).await.pop().unwrap();
    conversation.respond(vec![(id, edit)]).await.unwrap();
    waits("touch no-such-directory/y").await;
    let events = desk.events().await;
    let risks = events.iter().rev().find_map(|event| match &event.body {
        EventBody::SecurityAnalysis(analysis) => Some(analysis.risks.clone()),
        _ => None,
    });
    let dangerous = risks
        .unwrap()
        .into_values()
        .filter(|risk| *risk > SecurityRisk::Low);
    assert_eq!(dangerous.count(), 1);
}
