//! Other models that judge what an agent wants to do, what it has changed, and whether its goal is reached.

use std::sync::Arc;

use deft_engine::{Conversation, Critic, Criticised, ExecutorFate, GOAL, Goal, Parts, Refinement, Safety};
use deft_llm::Model;
use deft_types::{ConfirmationPolicy, EventBody, Extra, SecurityAnalyzer, SecurityRisk, Source, Status};

use crate::desk::{Desk, budget, say, settled};

const WORKS: &str = r#"
- tool_calls:
  - {name: terminal, arguments: {command: echo one > one, security_risk: LOW}}
  - {name: terminal, arguments: {command: echo two > two, security_risk: LOW}}
- text: done
"#;

async fn careful(desk: &Desk, judge: &Desk) -> Parts {
    let mut parts = desk.parts(Desk::limits()).await;
    parts.safety = Safety {
        policy: ConfirmationPolicy::ConfirmRisky {
            threshold: SecurityRisk::High,
            confirm_unknown: true,
        },
        analyzer: Some(SecurityAnalyzer::Judge(Extra::new())),
    };
    parts.supervision.judge = Some(judge.model.clone());
    parts
}

#[tokio::test]
async fn what_the_judge_finds_harmless_runs_and_its_cost_is_counted() {
    let desk = Desk::new(WORKS).await;
    let judge = Desk::new(r#"[{text: "1: LOW writes a file\n2: MEDIUM another", cost: 0.5}]"#).await;
    let conversation = Conversation::open(careful(&desk, &judge).await).await.unwrap();
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    assert_eq!(desk.file("two").trim(), "two");
    let asked = judge.model.requests.lock().unwrap()[0].messages[1].plain_text();
    assert!(
        asked.contains("echo one > one") && asked.contains("do it"),
        "{asked}"
    );
    let stats = desk.rebuilt().await.stats;
    assert_eq!(
        stats.usage_to_metrics["judge"].accumulated_cost.to_string(),
        "$0.50"
    );
    let events = desk.events().await;
    let told = events.iter().find_map(|event| match &event.body {
        EventBody::SecurityAnalysis(analysis) => Some(analysis),
        _ => None,
    });
    let details = serde_json::to_string(&told.unwrap().details).unwrap();
    assert!(details.contains("writes a file"), "{details}");
}

#[tokio::test]
async fn a_judge_is_not_asked_when_the_reply_has_used_up_the_budget() {
    let desk = Desk::new(&WORKS.replacen("- tool_calls:", "- cost: 1\n  tool_calls:", 1)).await;
    let judge = Desk::new(r#"[{text: "1: LOW a\n2: LOW b", cost: 0.5}]"#).await;
    let mut parts = careful(&desk, &judge).await;
    parts.limits = budget(1.0);
    let conversation = Conversation::open(parts).await.unwrap();
    desk.run(&conversation).await;
    assert_eq!(judge.model.asked(), 0);
    assert_eq!(desk.file("one"), "", "nobody has found it harmless");
}

#[tokio::test]
async fn what_the_judge_finds_dangerous_waits_and_so_does_all_if_it_fails() {
    for verdict in [
        r#"[{text: "1: LOW fine\n2: HIGH sends a key away"}]"#,
        "[{text: I will not say.}]",
        "[{error: {status: 500}}, {error: {status: 500}}, {error: {status: 500}}]",
    ] {
        let desk = Desk::new(WORKS).await;
        let judge = Desk::new(verdict).await;
        let conversation = Conversation::open(careful(&desk, &judge).await).await.unwrap();
        assert_eq!(
            desk.run(&conversation).await.status,
            Status::WaitingForConfirmation,
            "{verdict}"
        );
        assert_eq!(desk.file("one"), "");
        conversation.run().await.unwrap(); // which is the word
        assert_eq!(settled(&conversation).await.status, Status::Finished);
        assert_eq!(desk.file("two").trim(), "two");
    }
}

#[tokio::test]
async fn a_goal_is_worked_towards_until_the_judge_misses_nothing() {
    let desk = Desk::new("[{text: first try}, {text: second try}]").await;
    let judge = Desk::new(
        r#"[{text: never asked}, {text: '{"score": 0.2, "complete": false, "missing": "a test"}'}, {text: '{"complete": true}'}]"#,
    )
    .await;
    let mut parts = desk.parts(Desk::limits()).await;
    parts.supervision.judge = Some(judge.model.clone());
    let conversation = Conversation::open(parts).await.unwrap();
    let mut goal = Goal::new("make it work".to_owned(), 5);
    let mut messages = Vec::new();
    while goal.is_active() {
        messages.push(goal.message());
        say(&conversation, &goal.message()).await;
        conversation.run().await.unwrap();
        assert_eq!(settled(&conversation).await.status, Status::Finished);
        goal.judge(&conversation).await.unwrap();
    }
    assert!(goal.is_complete());
    assert_eq!(messages.len(), 2);
    assert!(messages[1].contains("Still missing: a test"), "{}", messages[1]);
    assert!(desk.rebuilt().await.stats.usage_to_metrics.contains_key("judge"));
}

#[tokio::test]
async fn a_goal_that_nobody_works_towards_any_more_is_interrupted() {
    let desk = Desk::new("[{text: first try}]").await;
    let conversation = desk.open().await;
    desk.run(&conversation).await;
    let goal = serde_json::json!(Goal::new("make it work".to_owned(), 5));
    conversation.tell(GOAL.to_owned(), goal).await.unwrap();
    conversation.close(ExecutorFate::End).await;
    desk.open().await.close(ExecutorFate::End).await;
    let events = desk.events().await;
    let told = events.iter().rev().find_map(|event| match &event.body {
        EventBody::StateUpdate(update) if update.key == GOAL => Some(&update.value),
        _ => None,
    });
    let told = told.unwrap();
    assert_eq!(
        (&told["active"], &told["status"]),
        (&false.into(), &"interrupted".into())
    );
    desk.open().await.close(ExecutorFate::End).await;
    assert_eq!(desk.events().await.len(), events.len(), "it is told once");
}

fn git(desk: &Desk, arguments: &[&str]) {
    let done = std::process::Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@t"])
        .args(arguments)
        .current_dir(&desk.executors.work)
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// A conversation over a repository, whose workspace is recorded before each turn.
async fn criticised(desk: &Desk, critic: &Desk) -> Conversation {
    std::fs::write(desk.executors.work.join("a"), "old\n").unwrap();
    git(desk, &["init", "-q"]);
    git(desk, &["add", "."]);
    git(desk, &["commit", "-qm", "first"]);
    let model: Arc<dyn Model> = critic.model.clone();
    reviewed(desk, Critic::Model(Some(model))).await
}

async fn reviewed(desk: &Desk, critic: Critic) -> Conversation {
    let mut parts = desk.parts(Desk::limits()).await;
    parts.outfit.checkpoints = true;
    parts.supervision.refinement = Some(Refinement {
        critic,
        max_iterations: 2,
        ..Refinement::default()
    });
    Conversation::open(parts).await.unwrap()
}

#[tokio::test]
async fn a_critic_sees_the_real_diff_and_sends_the_agent_back_as_often_as_may_be() {
    let script = r#"
- tool_calls: [{name: terminal, arguments: {command: echo new > a}}]
- text: first
- tool_calls: [{name: finish, arguments: {message: second}}]
- text: third
- text: never said
"#;
    let desk = Desk::new(script).await;
    let critic = Desk::new(r#"[{text: '{"score": 0.3, "message": "no test"}', cost: 0.25}]"#).await;
    let conversation = criticised(&desk, &critic).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    let state = conversation.inspect().await.unwrap();
    assert_eq!(state.answer.as_deref(), Some("third"));
    assert_eq!(state, desk.rebuilt().await);
    assert_eq!(critic.model.asked(), 3, "what it ends with has a score, too");
    let asked = critic.model.requests.lock().unwrap()[0].messages[1].plain_text();
    assert!(
        asked.contains("-old") && asked.contains("+new") && asked.contains("do it"),
        "{asked}"
    );
    let sent_back = desk.events().await.into_iter().filter(|event| match &event.body {
        EventBody::Message(said) => {
            event.source == Source::Environment && said.llm_message.plain_text().contains("no test")
        }
        _ => false,
    });
    assert_eq!(sent_back.count(), 2);
    assert_eq!(
        state.stats.usage_to_metrics["critic"]
            .accumulated_cost
            .to_string(),
        "$0.75"
    );
}

#[tokio::test]
async fn a_critic_who_is_content_or_fails_ends_the_turn() {
    for verdict in [
        r#"[{text: '{"score": 0.6, "message": ""}'}]"#,
        "[{text: no score}]",
        "[{error: {status: 500}}, {error: {status: 500}}]",
    ] {
        let desk = Desk::new("[{text: first}, {text: never said}]").await;
        let critic = Desk::new(verdict).await;
        let conversation = criticised(&desk, &critic).await;
        assert_eq!(
            desk.run(&conversation).await.status,
            Status::Finished,
            "{verdict}"
        );
        assert_eq!(desk.rebuilt().await.answer.as_deref(), Some("first"));
    }
}

#[tokio::test]
async fn a_critic_sees_what_the_turn_changed_without_a_repository_and_when_it_was_committed() {
    let commit = "git add . && git -c user.name=t -c user.email=t@t commit -qm work";
    for (command, has_repository) in [("true", false), (commit, true)] {
        let script = format!(
            r#"[{{tool_calls: [{{name: terminal, arguments: {{command: "echo new > made; {command}"}}}}]}}, {{text: done}}]"#
        );
        let desk = Desk::new(&script).await;
        let critic = Desk::new(r#"[{text: '{"score": 1}'}]"#).await;
        let conversation = if has_repository {
            criticised(&desk, &critic).await
        } else {
            let model: Arc<dyn Model> = critic.model.clone();
            reviewed(&desk, Critic::Model(Some(model))).await
        };
        assert_eq!(desk.run(&conversation).await.status, Status::Finished);
        let asked = critic.model.requests.lock().unwrap()[0].messages[1].plain_text();
        assert!(asked.contains("added made") && asked.contains("+new"), "{asked}");
        assert!(!asked.contains("-old"), "only what this turn changed: {asked}");
    }
}

#[tokio::test]
async fn critics_that_need_no_model_judge_by_what_was_done() {
    let writes = r#"[{tool_calls: [{name: terminal, arguments: {command: echo new > made}}]}, {text: done}]"#;
    let finishes = r#"[{tool_calls: [{name: terminal, arguments: {command: echo new > made}}]},
        {tool_calls: [{name: finish, arguments: {message: done}}]}]"#;
    let talks = "[{text: done}, {text: done}, {text: done}]";
    for (critic, script, sent_back) in [
        (Critic::Anybody, talks, 0),
        (Critic::Changed, talks, 2),
        (Critic::Changed, writes, 0),
        (Critic::Finished, finishes, 0),
        (Critic::Finished, talks, 2),
    ] {
        let desk = Desk::new(script).await;
        let conversation = reviewed(&desk, critic).await;
        assert_eq!(desk.run(&conversation).await.status, Status::Finished, "{script}");
        let told = desk.events().await.into_iter().filter(|event| match &event.body {
            EventBody::StateUpdate(update) => update.key == "critic" && update.value["goes_on"] == true,
            _ => false,
        });
        assert_eq!(told.count(), sent_back, "{script}");
    }
}

/// What critics thought of each message and action of the agent, in the order of the log.
async fn results(desk: &Desk) -> Vec<(String, Option<f64>)> {
    let events = desk.events().await.into_iter();
    let scored = events.filter_map(|event| {
        let (what, result) = match event.body {
            EventBody::Action(action) => (action.tool_name.clone(), action.critic_result.clone()),
            EventBody::Message(said) if event.source == Source::Agent => {
                ("message".to_owned(), said.critic_result.clone())
            }
            _ => return None,
        };
        Some((what, result.map(|result| result["score"].as_f64().unwrap())))
    });
    scored.collect()
}

#[tokio::test]
async fn the_event_that_ends_a_turn_says_what_the_critic_thinks_and_all_do_where_that_is_wanted() {
    let script = r#"[{tool_calls: [{name: terminal, arguments: {command: echo new > made}}]}, {text: first},
        {tool_calls: [{name: terminal, arguments: {command: "true"}}, {name: finish, arguments: {message: second}}]},
        {tool_calls: [{name: finish, arguments: {message: third}}]}]"#;
    let scored = |what: &str, score: Option<f64>| (what.to_owned(), score);
    for (criticised, on_the_way) in [(Criticised::Results, None), (Criticised::AllActions, Some(0.3))] {
        let desk = Desk::new(script).await;
        let critic = Desk::new(r#"[{text: '{"score": 0.3, "message": "no test"}', repeat: 9}]"#).await;
        let mut parts = desk.parts(Desk::limits()).await;
        parts.outfit.checkpoints = true;
        parts.supervision.refinement = Some(Refinement {
            critic: Critic::Model(Some(critic.model.clone())),
            criticised,
            max_iterations: 2,
            ..Refinement::default()
        });
        let conversation = Conversation::open(parts).await.unwrap();
        assert_eq!(desk.run(&conversation).await.status, Status::Finished);
        assert_eq!(
            results(&desk).await,
            [
                scored("terminal", on_the_way),
                scored("message", Some(0.3)),
                scored("terminal", on_the_way),
                scored("finish", on_the_way), // the reply does something first
                scored("finish", Some(0.3)),
            ],
        );
        let asked = critic.model.requests.lock().unwrap()[0].messages[1].plain_text();
        assert_eq!(asked.contains("echo new > made"), on_the_way.is_some(), "{asked}");
        assert_eq!(conversation.inspect().await.unwrap(), desk.rebuilt().await);
    }
}

#[tokio::test]
async fn a_reply_is_not_lost_when_somebody_stops_while_it_is_criticised() {
    for calls in [false, true] {
        let reply = if calls {
            "tool_calls: [{name: finish, arguments: {message: first}}]"
        } else {
            "text: first"
        };
        let desk = Desk::new(&format!("[{{{reply}}}, {{text: second}}]")).await;
        let critic = Desk::new("[{text: never said, delay_ms: 600000}]").await;
        let conversation = reviewed(&desk, Critic::Model(Some(critic.model.clone()))).await;
        say(&conversation, "do it").await;
        conversation.run().await.unwrap();
        while critic.model.asked() == 0 {
            tokio::task::yield_now().await;
        }
        conversation.interrupt().await.unwrap();
        let state = conversation.inspect().await.unwrap();
        assert_eq!((state.open_calls(), &state), (0, &desk.rebuilt().await));
        assert_eq!(results(&desk).await.len(), 1, "{calls}");
        assert_ne!(state.status, Status::Running);
    }
}

#[tokio::test]
async fn a_critic_that_sends_nobody_back_still_gives_its_score() {
    let desk = Desk::new("[{text: done}, {text: never said}]").await;
    let mut parts = desk.parts(Desk::limits()).await;
    parts.supervision.refinement = Some(Refinement {
        critic: Critic::Changed,
        max_iterations: 0,
        ..Refinement::default()
    });
    let conversation = Conversation::open(parts).await.unwrap();
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    let events = desk.events().await;
    let score = events.iter().find_map(|event| match &event.body {
        EventBody::StateUpdate(update) if update.key == "critic" => update.value["score"].as_f64(),
        _ => None,
    });
    assert_eq!(score, Some(0.0));
    assert_eq!(desk.model.asked(), 1);
}
