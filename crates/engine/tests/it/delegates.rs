//! Agents that have names, and are given tasks together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use deft_engine::{BegunTask, Conversation, ExecutorFate, Order, Safety, SubAgent, SubAgentKind, SubAgents};
use deft_types::{
    ConfirmationPolicy, EventBody, Extra, Observation, SecurityAnalyzer, SecurityRisk, Source, Status,
    text_of,
};
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::desk::{Desk, assert_paired, budget, settled};

/// Agents that each have a desk of their own.
struct Several {
    desks: Vec<Desk>,
    begun: AtomicUsize,
}

impl Several {
    async fn following(scripts: &[&str]) -> Arc<Self> {
        let mut desks = Vec::new();
        for script in scripts {
            desks.push(Desk::new(script).await);
        }
        Arc::new(Self {
            desks,
            begun: AtomicUsize::new(0),
        })
    }
}

impl SubAgents for Several {
    fn kinds(&self) -> Vec<SubAgentKind> {
        Vec::new()
    }

    fn begun(&self) -> BoxFuture<'_, Result<Vec<BegunTask>, String>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn open<'a>(&'a self, order: Order<'a>) -> BoxFuture<'a, Result<SubAgent, String>> {
        async move {
            let number = match order.resume {
                Some(task) => task.strip_prefix("task_").unwrap().parse().unwrap(),
                None => self.begun.fetch_add(1, Ordering::Relaxed),
            };
            let mut parts = self.desks[number].parts(Desk::limits()).await;
            parts.supervision.above = Some(order.above.clone());
            Ok(SubAgent {
                task_id: format!("task_{number}"),
                conversation: Conversation::open(parts).await.unwrap(),
                own_branch: None,
            })
        }
        .boxed()
    }
}

async fn opened(desk: &Desk, several: &Arc<Several>, policy: ConfirmationPolicy) -> Conversation {
    let mut parts = desk.parts(Desk::limits()).await;
    parts.agents = Some(several.clone() as Arc<dyn SubAgents>);
    parts.supervision.delegates = true;
    parts.safety = Safety {
        policy,
        analyzer: Some(SecurityAnalyzer::Pattern(Extra::new())),
    };
    Conversation::open(parts).await.unwrap()
}

async fn results(desk: &Desk) -> Vec<String> {
    let events = desk.events().await;
    let results = events.iter().filter_map(|event| match &event.body {
        EventBody::Observation(result) => match &result.observation {
            Observation::Delegate(told) => Some(text_of(&told.content)),
            _ => None,
        },
        _ => None,
    });
    results.collect()
}

async fn tasks_of(desk: &Desk) -> usize {
    let events = desk.events().await;
    let said = |event: &&deft_types::Event| {
        event.source == Source::User && matches!(event.body, EventBody::Message(_))
    };
    events.iter().filter(said).count()
}

#[tokio::test]
async fn agents_side_by_side_go_beyond_the_budget_by_one_call_at_most() {
    let several = Several::following(&["[{text: done, cost: 1}]"; 4]).await;
    let call = "{name: task, arguments: {prompt: do it}}";
    let script = format!("[{{tool_calls: [{call}, {call}, {call}, {call}], cost: 1}}, {{text: done}}]");
    let desk = Desk::new(&script).await;
    let mut parts = desk.parts(budget(2.5)).await;
    parts.agents = Some(several.clone() as Arc<dyn SubAgents>);
    let conversation = Conversation::open(parts).await.unwrap();
    assert_eq!(desk.run(&conversation).await.status, Status::Error);
    let spent = conversation.inspect().await.unwrap().stats.total_cost();
    assert_eq!(spent.to_string(), "$3.00");
    let asked: usize = several.desks.iter().map(|desk| desk.model.asked()).sum();
    assert_eq!(asked, 2);
    assert_paired(&desk.events().await);
}

const SPAWN: &str = "- tool_calls: [{name: delegate, arguments: {command: spawn, ids: [ann, bob]}}]\n";
const BOTH: &str =
    "- tool_calls: [{name: delegate, arguments: {command: delegate, tasks: {ann: look, bob: write}}}]\n";

#[tokio::test]
async fn agents_with_names_work_at_the_same_time_and_remember_what_they_did() {
    let meeting = tempfile::tempdir().unwrap();
    let meets = |own: &str, other: &str| {
        let place = meeting.path().display();
        let command = format!("touch {place}/{own}; until [ -e {place}/{other} ]; do sleep 0.05; done");
        format!(
            "[{{tool_calls: [{{name: terminal, arguments: {{command: '{command}'}}}}]}}, {{text: {own} met {other}}}, {{text: {own} again}}]"
        )
    };
    let several = Several::following(&[&meets("ann", "bob"), &meets("bob", "ann")]).await;
    let one = "- tool_calls: [{name: delegate, arguments: {command: delegate, tasks: {ann: more}}}]\n";
    let nobody = "- tool_calls: [{name: delegate, arguments: {command: delegate, tasks: {eve: hm}}}]\n";
    let again = "- tool_calls: [{name: delegate, arguments: {command: spawn, ids: [ann]}}]\n";
    let desk = Desk::new(&format!("{SPAWN}{BOTH}{one}{nobody}{again}- text: done\n")).await;
    let conversation = opened(&desk, &several, ConfirmationPolicy::NeverConfirm).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    assert_paired(&desk.events().await);
    let results = results(&desk).await;
    assert!(results[0].contains("ann (general-purpose), bob"), "{results:?}");
    let both = "2 of 2 tasks are done.\n\nann (completed): ann met bob\n\nbob (completed): bob met ann";
    assert_eq!(results[1], both);
    assert_eq!(results[2], "1 of 1 tasks are done.\n\nann (completed): ann again");
    assert!(results[3].contains("there is no agent 'eve'"), "{results:?}");
    assert!(results[4].contains("it is there already"), "{results:?}");
    assert_eq!(tasks_of(&several.desks[0]).await, 2, "one conversation");
    assert_eq!(several.begun.load(Ordering::Relaxed), 2);
    let stats = desk.rebuilt().await.stats;
    assert!(stats.usage_to_metrics.contains_key("task:task_1"), "{stats:?}");
}

#[tokio::test]
async fn who_waits_for_a_word_is_asked_about_and_who_is_done_begins_nothing_twice_also_after_a_restart() {
    let removes =
        "[{tool_calls: [{name: terminal, arguments: {command: 'touch y; rm -rf ~/x'}}]}, {text: gone}]";
    let writes = "[{tool_calls: [{name: terminal, arguments: {command: echo x >> x}}]}, {text: written}]";
    let several = Several::following(&[removes, writes]).await;
    let desk = Desk::new(&format!("{SPAWN}{BOTH}- text: done\n")).await;
    let risky = ConfirmationPolicy::ConfirmRisky {
        threshold: SecurityRisk::High,
        confirm_unknown: true,
    };
    let conversation = opened(&desk, &several, risky.clone()).await;
    let waiting = desk.run(&conversation).await.status;
    assert_eq!(waiting, Status::WaitingForConfirmation);
    assert!(!several.desks[0].executors.work.join("y").exists());
    assert_eq!(several.desks[1].file("x"), "x\n");
    conversation.close(ExecutorFate::Keep).await;
    drop(conversation);

    let conversation = opened(&desk, &several, risky).await;
    assert_eq!(conversation.inspect().await.unwrap(), desk.rebuilt().await);
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert!(several.desks[0].executors.work.join("y").exists());
    assert_eq!(several.desks[1].file("x"), "x\n");
    assert_eq!(several.desks[1].model.asked(), 2, "it was done before");
    let last = results(&desk).await.pop().unwrap();
    assert!(
        last.contains("ann (completed): gone") && last.contains("bob (completed): written"),
        "{last}"
    );
}
