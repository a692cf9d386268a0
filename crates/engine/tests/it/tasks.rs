//! Agents that give tasks to other agents.

use std::sync::Arc;

use deft_engine::{Conversation, Extensions, SubAgent, SubAgentKind, SubAgents};
use deft_skills::{AgentDefinition, Origin};
use deft_types::{EventBody, Money, Observation, Status, text_of};
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::desk::{Desk, assert_paired, say, settled};

/// Agents at a desk of their own.
struct Others(Desk);

impl SubAgents for Others {
    fn kinds(&self) -> Vec<SubAgentKind> {
        vec![SubAgentKind {
            name: "general-purpose".to_owned(),
            description: "does it".to_owned(),
        }]
    }

    fn open<'a>(
        &'a self,
        kind: &'a str,
        definition: Option<&'a AgentDefinition>,
        _: Option<&'a str>,
        budget: Option<Money>,
    ) -> BoxFuture<'a, Result<SubAgent, String>> {
        async move {
            if kind != "general-purpose" && definition.is_none() {
                return Err(format!("there is no kind '{kind}'"));
            }
            let mut limits = Desk::limits();
            limits.max_cost = budget;
            Ok(SubAgent {
                task_id: "task_1".to_owned(),
                conversation: self.0.open_with(limits).await,
            })
        }
        .boxed()
    }
}

async fn opened(desk: &Desk, others: Others) -> Conversation {
    let mut parts = desk.parts(Desk::limits()).await;
    parts.agents = Some(Arc::new(others));
    Conversation::open(parts).await.unwrap()
}

#[tokio::test]
async fn a_task_is_done_by_another_agent_and_what_it_cost_is_counted() {
    let others = Others(Desk::new("[{tool_calls: [{name: terminal, arguments: {command: echo x > x}}], cost: 0.25}, {text: it is done}]").await);
    let file = others.0.executors.work.join("x");
    let script = r#"
- tool_calls: [{name: task, arguments: {prompt: do it, subagent_type: nobody}}]
- tool_calls: [{name: task, arguments: {prompt: do it}}]
- text: all done
"#;
    let desk = Desk::new(script).await;
    let conversation = opened(&desk, others).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    let events = desk.events().await;
    assert_paired(&events);
    let results: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::Observation(result) => match &result.observation {
                Observation::Task(task) => Some((task.status.clone(), text_of(&task.content))),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(results[0].0, "error");
    assert_eq!(results[1], ("completed".to_owned(), "it is done".to_owned()));
    assert!(file.exists());
    let stats = desk.rebuilt().await.stats;
    assert_eq!(
        stats.usage_to_metrics["task:task_1"].accumulated_cost.to_string(),
        "$0.25"
    );
}

#[tokio::test]
async fn an_interrupt_reaches_the_agent_that_has_the_task() {
    let others = Others(
        Desk::new("[{tool_calls: [{name: terminal, arguments: {command: 'touch begun; sleep 600'}}]}, {text: done}]").await,
    );
    let begun = others.0.executors.work.join("begun");
    let desk = Desk::new("[{tool_calls: [{name: task, arguments: {prompt: do it}}]}, {text: done}]").await;
    let conversation = opened(&desk, others).await;
    say(&conversation, "do it").await;
    conversation.run().await.unwrap();
    while !begun.exists() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    conversation.interrupt().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Paused);
    assert_paired(&desk.events().await);
}

#[tokio::test]
async fn an_agent_that_somebody_defined_is_found_and_takes_only_what_it_declares() {
    let written = "---\ndescription: Reviews code\ninput_schema: {type: object, properties: {branch: {type: string}}, required: [branch]}\n---\nBe strict.";
    let reviewer = AgentDefinition::parse("/h/agents/reviewer.md", written, Origin::User).unwrap();
    let others = Others(Desk::new("[{text: it is fine}]").await);
    let asked = others.0.model.clone();
    let script = r"
- tool_calls: [{name: task, arguments: {prompt: look, subagent_type: reviewer}}]
- tool_calls: [{name: task, arguments: {prompt: look, subagent_type: reviewer, parameters: {branch: main}}}]
- text: all done
";
    let desk = Desk::new(script).await;
    let mut parts = desk.parts(Desk::limits()).await;
    parts.agents = Some(Arc::new(others));
    parts.extensions = Extensions {
        agents: vec![reviewer],
        ..Extensions::default()
    };
    let conversation = Conversation::open(parts).await.unwrap();
    desk.run(&conversation).await;
    let prompt = text_of(&desk.model.requests.lock().unwrap()[0].messages[0].content);
    assert!(prompt.contains("- reviewer (agent): Reviews code"), "{prompt}");
    let requests = asked.requests.lock().unwrap();
    assert_eq!(requests.len(), 1, "the first had no branch");
    assert_eq!(
        text_of(&requests[0].messages[1].content),
        "look\n\nParameters: {\"branch\":\"main\"}"
    );
}
