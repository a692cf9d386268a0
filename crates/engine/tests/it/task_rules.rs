//! What counts for an agent that gives tasks counts for those that have them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use deft_engine::{
    Answer, Conversation, ExecutorFate, HookConfig, Safety, SecretSources, SubAgents, allow_rules,
};
use deft_tools::SecretSet;
use deft_types::{
    ConfirmationPolicy, EventBody, Extra, Observation, Secret, SecurityAnalyzer, SecurityRisk, Status,
    text_of,
};
use serde_json::json;

use crate::desk::{Desk, assert_paired, say, settled};
use crate::tasks::Others;

const GIVES_TASK: &str = "[{tool_calls: [{name: task, arguments: {prompt: do it}}]}, {text: all done}]";
const WRITES: &str =
    "[{tool_calls: [{name: terminal, arguments: {command: echo x >> x}}]}, {text: it is done}]";

async fn opened(desk: &Desk, others: &Arc<Others>, policy: ConfirmationPolicy) -> Conversation {
    let mut parts = desk.parts(Desk::limits()).await;
    parts.safety = Safety {
        policy,
        analyzer: Some(SecurityAnalyzer::Pattern(Extra::new())),
    };
    parts.agents = Some(others.clone() as Arc<dyn SubAgents>);
    Conversation::open(parts).await.unwrap()
}

async fn goes_on(conversation: &Conversation) -> Status {
    conversation.run().await.unwrap();
    settled(conversation).await.status
}

/// What people were told about actions that wait.
async fn told(desk: &Desk) -> Vec<String> {
    let events = desk.events().await;
    let details = events.iter().filter_map(|event| match &event.body {
        EventBody::SecurityAnalysis(analysis) => Some(json!(analysis.details).to_string()),
        _ => None,
    });
    details.collect()
}

async fn results(desk: &Desk) -> Vec<String> {
    let events = desk.events().await;
    let results = events.iter().filter_map(|event| match &event.body {
        EventBody::Observation(result) => Some(text_of(&result.observation.content())),
        EventBody::UserReject(rejection) => Some(rejection.rejection_reason.clone()),
        _ => None,
    });
    results.collect()
}

#[tokio::test]
async fn a_policy_that_was_made_stricter_counts_for_agents_with_tasks_who_are_approved_through_their_parent()
{
    let others = Arc::new(Others::at(Desk::new(WRITES).await));
    let desk = Desk::new(GIVES_TASK).await;
    let conversation = opened(&desk, &others, ConfirmationPolicy::NeverConfirm).await;
    conversation
        .set_policy(ConfirmationPolicy::AlwaysConfirm)
        .await
        .unwrap();
    assert_eq!(
        desk.run(&conversation).await.status,
        Status::WaitingForConfirmation
    );
    assert_eq!(goes_on(&conversation).await, Status::WaitingForConfirmation);
    assert_eq!(others.desk.file("x"), "", "nobody has agreed to that");
    let told = told(&desk).await;
    assert!(told.last().unwrap().contains("echo x >> x"), "{told:?}");
    assert_eq!(conversation.inspect().await.unwrap(), desk.rebuilt().await);

    assert_eq!(goes_on(&conversation).await, Status::Finished);
    assert_eq!(others.desk.file("x"), "x\n");
    assert_eq!(results(&desk).await, ["it is done"]);
    assert_paired(&desk.events().await);
    assert_paired(&others.desk.events().await);
}

#[tokio::test]
async fn an_agent_that_waits_is_taken_up_again_after_a_restart_and_begins_nothing_twice() {
    let others = Arc::new(Others::at(Desk::new(WRITES).await));
    let desk = Desk::new(GIVES_TASK).await;
    for fate in [ExecutorFate::End, ExecutorFate::Keep] {
        let conversation = opened(&desk, &others, ConfirmationPolicy::AlwaysConfirm).await;
        match conversation.inspect().await.unwrap().status {
            Status::Idle => {
                desk.run(&conversation).await;
                goes_on(&conversation).await;
            }
            status => assert_eq!(status, Status::WaitingForConfirmation),
        }
        conversation.close(fate).await;
    }
    let conversation = opened(&desk, &others, ConfirmationPolicy::AlwaysConfirm).await;
    assert_eq!(goes_on(&conversation).await, Status::Finished);
    assert_eq!(others.desk.file("x"), "x\n");
    let prompts = others.desk.model.requests.lock().unwrap().len();
    assert_eq!(prompts, 2, "it has one conversation, and one task");
    assert_paired(&desk.events().await);
}

#[tokio::test]
async fn what_is_refused_is_not_done_also_if_the_agent_is_given_more_to_do() {
    let script = r"
- tool_calls: [{name: task, arguments: {prompt: do it}}]
- tool_calls: [{name: task, arguments: {prompt: then leave it, resume: task_1}}]
- text: all done
";
    let others = Arc::new(Others::at(Desk::new(WRITES).await));
    let desk = Desk::new(script).await;
    let conversation = opened(&desk, &others, ConfirmationPolicy::AlwaysConfirm).await;
    desk.run(&conversation).await;
    assert_eq!(goes_on(&conversation).await, Status::WaitingForConfirmation);
    conversation.reject("not that".to_owned()).await.unwrap();
    assert_eq!(results(&desk).await, ["not that"]);
    assert_eq!(
        goes_on(&conversation).await,
        Status::WaitingForConfirmation,
        "for the second task"
    );
    assert_eq!(goes_on(&conversation).await, Status::Finished);
    assert_eq!(others.desk.file("x"), "");
    assert_eq!(results(&others.desk).await, ["Nobody agreed to this."]);
    assert_paired(&desk.events().await);
}

#[tokio::test]
async fn only_what_is_risky_is_asked_for_also_two_levels_below_and_the_answer_goes_all_the_way() {
    let removes =
        "[{tool_calls: [{name: terminal, arguments: {command: 'touch y; rm -rf ~/x'}}]}, {text: gone}]";
    let lowest = Arc::new(Others::at(Desk::new(removes).await));
    let middle = Arc::new(Others {
        desk: Desk::new(GIVES_TASK).await,
        below: Some(lowest.clone()),
    });
    let desk = Desk::new(GIVES_TASK).await;
    let risky = ConfirmationPolicy::ConfirmRisky {
        threshold: SecurityRisk::High,
        confirm_unknown: true,
    };
    let conversation = opened(&desk, &middle, risky).await;
    assert_eq!(
        desk.run(&conversation).await.status,
        Status::WaitingForConfirmation
    );
    let told = told(&desk).await;
    assert!(told.last().unwrap().contains("rm -rf ~/x"), "{told:?}");
    assert!(!lowest.desk.executors.work.join("y").exists());
    let waiting = desk
        .events()
        .await
        .into_iter()
        .find_map(|event| match event.body {
            EventBody::Action(_) => Some(event.id),
            _ => None,
        });
    let answers = vec![(waiting.unwrap(), Answer::Approve)];
    conversation.respond(answers).await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert!(lowest.desk.executors.work.join("y").exists());
    assert_eq!(results(&middle.desk).await, ["gone"]);
}

#[tokio::test]
async fn what_was_allowed_above_need_not_be_asked_for_below() {
    let others = Arc::new(Others::at(
        Desk::new(WRITES.replace("echo x >> x", "touch x").as_str()).await,
    ));
    let desk = Desk::new(GIVES_TASK).await;
    let conversation = opened(&desk, &others, ConfirmationPolicy::AlwaysConfirm).await;
    conversation
        .allow("touch", deft_engine::AllowScope::Conversation)
        .await
        .unwrap();
    assert_eq!(allow_rules(desk.store.as_ref(), desk.id).await.unwrap().len(), 1);
    desk.run(&conversation).await;
    assert_eq!(goes_on(&conversation).await, Status::Finished);
    assert!(others.desk.executors.work.join("x").exists());
}

#[tokio::test]
async fn agents_with_tasks_have_the_secrets_and_hide_them() {
    let shows =
        "[{tool_calls: [{name: terminal, arguments: {command: 'echo $TOKEN | tee token'}}]}, {text: done}]";
    let others = Arc::new(Others::at(Desk::new(shows).await));
    let desk = Desk::new(GIVES_TASK).await;
    let mut parts = desk.parts(Desk::limits()).await;
    let secret = ("TOKEN".to_owned(), Secret::new("hunter2-and-more".to_owned()));
    parts.outfit.secrets = SecretSources {
        values: SecretSet::new(BTreeMap::from([secret])).unwrap(),
        lookup: None,
    };
    parts.extensions.brief.secrets = vec![("TOKEN".to_owned(), None)];
    parts.agents = Some(others.clone() as Arc<dyn SubAgents>);
    let conversation = Conversation::open(parts).await.unwrap();
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    assert_eq!(others.desk.file("token").trim(), "hunter2-and-more");
    let log = format!("{:?}", others.desk.events().await);
    assert!(
        !log.contains("hunter2") && log.contains("<secret-hidden>"),
        "{log}"
    );
    assert!(log.contains("- TOKEN"), "it is told that there is one: {log}");
}

#[tokio::test]
async fn agents_at_work_get_the_secrets_that_come_later() {
    let waits = "while [ ! -e go ]; do sleep 0.01; done";
    let shows = format!(
        "[{{tool_calls: [{{name: terminal, arguments: {{command: '{waits}'}}}}]}}, \
         {{tool_calls: [{{name: terminal, arguments: {{command: 'echo $TOKEN | tee token'}}}}]}}, {{text: done}}]"
    );
    let others = Arc::new(Others::at(Desk::new(&shows).await));
    let desk = Desk::new(GIVES_TASK).await;
    let conversation = opened(&desk, &others, ConfirmationPolicy::NeverConfirm).await;
    say(&conversation, "go").await;
    conversation.run().await.unwrap();
    let called = || async {
        let events = others.desk.events().await;
        events
            .iter()
            .any(|event| matches!(event.body, EventBody::Action(_)))
    };
    while !called().await {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let secret = ("TOKEN".to_owned(), Secret::new("hunter2-and-more".to_owned()));
    let secrets = SecretSources {
        values: SecretSet::new(BTreeMap::from([secret])).unwrap(),
        lookup: None,
    };
    conversation.set_secrets(secrets).await.unwrap();
    std::fs::write(others.desk.executors.work.join("go"), "").unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert_eq!(others.desk.file("token").trim(), "hunter2-and-more");
    let log = format!("{:?}", others.desk.events().await);
    assert!(
        !log.contains("hunter2") && log.contains("<secret-hidden>"),
        "{log}"
    );
}

#[tokio::test]
async fn a_hook_that_refuses_a_call_refuses_it_to_agents_with_tasks_too_and_is_asked_once() {
    let others = Arc::new(Others::at(Desk::new(WRITES).await));
    let desk = Desk::new(GIVES_TASK).await;
    let hooks = json!({"PreToolUse": [{"matcher": "terminal", "hooks": [
        {"type": "command", "command": "echo asked >> asked; echo not here >&2; exit 2"}]}]});
    let mut parts = desk.parts(Desk::limits()).await;
    parts.extensions.hooks = HookConfig::parse(&hooks).unwrap();
    parts.agents = Some(others.clone() as Arc<dyn SubAgents>);
    let conversation = Conversation::open(parts).await.unwrap();
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    assert_eq!(others.desk.file("x"), "");
    assert_eq!(others.desk.file("asked"), "asked\n");
    assert_eq!(results(&others.desk).await, ["not here"]);
}

#[tokio::test]
async fn an_agent_that_goes_on_stays_the_kind_it_was() {
    let script = r"
- tool_calls: [{name: task, arguments: {prompt: look, subagent_type: reviewer}}]
- tool_calls: [{name: task, arguments: {prompt: go on, resume: task_1}}]
- text: all done
";
    let written = "---\ndescription: Reviews code\n---\nBe strict.";
    let reviewer =
        deft_skills::AgentDefinition::parse("/h/agents/reviewer.md", written, deft_skills::Origin::User)
            .unwrap();
    let others = Arc::new(Others::at(Desk::new("[{repeat: 2, text: fine}]").await));
    let desk = Desk::new(script).await;
    let mut parts = desk.parts(Desk::limits()).await;
    parts.extensions.agents = vec![reviewer];
    parts.agents = Some(others.clone() as Arc<dyn SubAgents>);
    let conversation = Conversation::open(parts).await.unwrap();
    desk.run(&conversation).await;
    let events = desk.events().await;
    let kinds = events.iter().filter_map(|event| match &event.body {
        EventBody::Observation(result) => match &result.observation {
            Observation::Task(task) => Some((task.subagent.as_str(), task.status.as_str())),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(kinds.collect::<Vec<_>>(), [("reviewer", "completed"); 2]);
}
