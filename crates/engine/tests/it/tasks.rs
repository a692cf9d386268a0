//! Agents that give tasks to other agents.

use std::sync::Arc;

use deft_engine::{
    BegunTask, Budget, Conversation, Extensions, Limits, Order, SubAgent, SubAgentKind, SubAgents,
};
use deft_skills::{AgentDefinition, Origin};
use deft_types::{Event, EventBody, EventId, Observation, Status, text_of};
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::desk::{Desk, assert_paired, budget, say, settled};

/// Agents at a desk of their own.
pub(crate) struct Others {
    pub(crate) desk: Desk,
    /// Whom they can give tasks to.
    pub(crate) below: Option<Arc<Others>>,
}

impl Others {
    /// Agents that give no tasks.
    pub(crate) fn at(desk: Desk) -> Self {
        Self { desk, below: None }
    }
}

impl SubAgents for Others {
    fn kinds(&self) -> Vec<SubAgentKind> {
        vec![SubAgentKind {
            name: "general-purpose".to_owned(),
            description: "does it".to_owned(),
        }]
    }

    fn begun(&self) -> BoxFuture<'_, Result<Vec<BegunTask>, String>> {
        async {
            let state = self.desk.rebuilt().await;
            Ok(vec![BegunTask {
                usage_id: "task:task_1".to_owned(),
                stats: state.stats,
                told: state.last_user_message_id,
            }])
        }
        .boxed()
    }

    fn open<'a>(&'a self, order: Order<'a>) -> BoxFuture<'a, Result<SubAgent, String>> {
        async move {
            if order.kind != "general-purpose" && order.definition.is_none() {
                return Err(format!("there is no kind '{}'", order.kind));
            }
            let mut parts = self.desk.parts(Desk::limits()).await;
            parts.supervision.above = Some(order.above.clone());
            parts.extensions.brief.skills.clone_from(&order.skills);
            parts.agents = self.below.clone().map(|below| below as Arc<dyn SubAgents>);
            Ok(SubAgent {
                task_id: "task_1".to_owned(),
                conversation: Conversation::open(parts).await.unwrap(),
                own_branch: None,
            })
        }
        .boxed()
    }
}

async fn opened(desk: &Desk, others: Others) -> Conversation {
    opened_with(desk, others, Desk::limits()).await
}

async fn opened_with(desk: &Desk, others: Others, limits: Limits) -> Conversation {
    let mut parts = desk.parts(limits).await;
    parts.agents = Some(Arc::new(others));
    Conversation::open(parts).await.unwrap()
}

#[tokio::test]
async fn a_task_is_done_by_another_agent_and_what_it_cost_is_counted() {
    let others = Others::at(Desk::new("[{tool_calls: [{name: terminal, arguments: {command: echo x > x}}], cost: 0.25}, {text: it is done}]").await);
    let file = others.desk.executors.work.join("x");
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
async fn a_task_can_be_taken_up_again_by_whoever_gave_it_and_by_nobody_else() {
    let others = Others::at(Desk::new("[{text: half of it}, {text: all of it}]").await);
    let script = r#"
- tool_calls: [{name: task, arguments: {prompt: go on, resume: task_1}}]
- tool_calls: [{name: task, arguments: {prompt: do it}}]
- tool_calls: [{name: task, arguments: {prompt: go on, resume: task_1}}]
- text: all done
"#;
    let desk = Desk::new(script).await;
    let log = (others.desk.store.clone(), others.desk.id);
    let conversation = opened(&desk, others).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    let events = desk.events().await;
    let results: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::Observation(result) => Some(text_of(&result.observation.content())),
            _ => None,
        })
        .collect();
    assert!(results[0].contains("no task task_1"), "{results:?}");
    assert_eq!(results[1..], ["half of it", "all of it"]);
    let theirs = log.0.read(log.1, deft_types::Seq::FIRST, 1_000).await.unwrap();
    let prompts = theirs.iter().filter(|(_, event)| {
        event.source == deft_types::Source::User && matches!(event.body, EventBody::Message(_))
    });
    assert_eq!(prompts.count(), 2, "it is one conversation");
}

#[tokio::test]
async fn an_interrupt_reaches_the_agent_that_has_the_task() {
    let others = Others::at(
        Desk::new("[{tool_calls: [{name: terminal, arguments: {command: 'echo $$ > begun; exec sleep 600'}}]}, {text: done}]").await,
    );
    let begun = others.desk.executors.work.join("begun");
    let desk = Desk::new("[{tool_calls: [{name: task, arguments: {prompt: do it}}]}, {text: done}]").await;
    let conversation = opened(&desk, others).await;
    say(&conversation, "do it").await;
    conversation.run().await.unwrap();
    let mut process = String::new();
    while !process.ends_with('\n') {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        process = std::fs::read_to_string(&begun).unwrap_or_default();
    }
    conversation.interrupt().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Paused);
    assert_paired(&desk.events().await);
    let (_, result) = results(&desk).await.remove(0);
    assert!(result.contains("stopped before it was done"), "{result}");
    let process = std::path::Path::new("/proc").join(process.trim());
    let stopped = std::time::Instant::now();
    while process.exists() {
        assert!(stopped.elapsed().as_secs() < 3, "what it started still runs");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn an_agent_that_somebody_defined_is_found_and_takes_only_what_it_declares() {
    let written = "---\ndescription: Reviews code\ninput_schema: {type: object, properties: {branch: {type: string}}, required: [branch]}\n---\nBe strict.";
    let reviewer = AgentDefinition::parse("/h/agents/reviewer.md", written, Origin::User).unwrap();
    let others = Others::at(Desk::new("[{text: it is fine}]").await);
    let asked = others.desk.model.clone();
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

/// A conversation whose agent works on its task, which it has begun.
async fn begun(desk: &Desk, others: &Arc<Others>) -> Conversation {
    let mut parts = desk.parts(Desk::limits()).await;
    parts.agents = Some(others.clone());
    let conversation = Conversation::open(parts).await.unwrap();
    say(&conversation, "do it").await;
    conversation.run().await.unwrap();
    others.desk.wait_for_file("begun").await;
    conversation
}

/// The same log, as another process finds it that knows nothing of the first.
async fn found(after: &Desk, limits: Limits, log: Vec<Event>, others: &Arc<Others>) -> Conversation {
    let mut parts = after.parts(limits).await;
    after.store.append(&parts.lease, log).await.unwrap();
    parts.agents = Some(others.clone());
    Conversation::open(parts).await.unwrap()
}

const GIVES: &str = "[{tool_calls: [{name: task, arguments: {prompt: do it}}]}, {text: done}]";

#[tokio::test]
async fn what_an_agent_had_used_when_the_process_died_is_counted_by_whoever_opens_the_conversation() {
    let spends = "[{tool_calls: [{name: terminal, arguments: {command: 'echo x > begun; sleep 5'}}], cost: 1}, {text: done}]";
    let others = Arc::new(Others::at(Desk::new(spends).await));
    let desk = Desk::new(GIVES).await;
    let conversation = begun(&desk, &others).await;

    let after = Desk::new("[{text: done}]").await;
    let opened = found(&after, budget(1.0), desk.events().await, &others).await;
    let spent = opened.inspect().await.unwrap().stats.total_cost();
    assert_eq!(spent.to_string(), "$1.00");
    opened.run().await.unwrap();
    assert_eq!(settled(&opened).await.status, Status::Error);
    assert_eq!(after.model.asked(), 0, "there is nothing left to pay it with");
    conversation.interrupt().await.unwrap();
}

#[tokio::test]
async fn a_task_whose_process_died_can_be_taken_up_again() {
    let works = "[{tool_calls: [{name: terminal, arguments: {command: 'echo x > begun; sleep 1'}}]}, {text: all of it}]";
    let others = Arc::new(Others::at(Desk::new(works).await));
    let desk = Desk::new(GIVES).await;
    let conversation = begun(&desk, &others).await;
    let log = desk.events().await;
    conversation.close(deft_engine::ExecutorFate::Keep).await;

    let resumes = "[{text: as above}, {tool_calls: [{name: task, arguments: {prompt: go on, resume: task_1}}]}, {text: done}]";
    let after = Desk::new(resumes).await;
    let opened = found(&after, Desk::limits(), log, &others).await;
    opened.run().await.unwrap();
    assert_eq!(settled(&opened).await.status, Status::Finished);
    let results = results(&after).await;
    assert!(results[0].1.contains("has died"), "{results:?}");
    assert_eq!(results[1], ("completed".to_owned(), "all of it".to_owned()));
}

/// What the tasks came to.
async fn results(desk: &Desk) -> Vec<(String, String)> {
    let events = desk.events().await;
    let results = events.iter().filter_map(|event| match &event.body {
        EventBody::Observation(result) => match &result.observation {
            Observation::Task(task) => Some((task.status.clone(), text_of(&task.content))),
            _ => None,
        },
        _ => None,
    });
    results.collect()
}

#[tokio::test]
async fn invariant_11_an_agent_with_a_task_draws_on_what_is_left_and_more_can_be_added() {
    let steps =
        "[{repeat: 9, tool_calls: [{name: terminal, arguments: {command: 'echo {{n}} >> steps'}}], cost: 1}]";
    let others = Others::at(Desk::new(steps).await);
    let done = others.desk.executors.work.join("steps");
    let script = "[{tool_calls: [{name: task, arguments: {prompt: do it}}], cost: 1}, {text: done, cost: 1}]";
    let desk = Desk::new(script).await;
    let conversation = opened_with(&desk, others, crate::desk::budget(4.0)).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Error);
    assert_eq!(
        std::fs::read_to_string(done).unwrap().lines().count(),
        3,
        "one was spent above"
    );
    let results = results(&desk).await;
    assert_eq!(results[0].0, "error");
    let state = desk.rebuilt().await;
    assert_eq!(state.stats.total_cost().to_string(), "$4.00");
    let told = |events: &[deft_types::Event]| -> Vec<String> {
        let told = events.iter().filter_map(|event| match &event.body {
            EventBody::ConversationError(error) => Some(format!("{}: {}", error.code, error.detail)),
            _ => None,
        });
        told.collect()
    };
    let stopped = told(&desk.events().await);
    assert!(
        stopped[0].starts_with("MaxBudgetReached: The budget of $4.00 is spent ($4.00)"),
        "{stopped:?}"
    );

    let more = Budget {
        cost: "1".parse().unwrap(),
        ..Budget::default()
    };
    for _ in 0..2 {
        let id = EventId("more".to_owned());
        conversation.add_budget(id, more).await.unwrap(); // the same id twice is one dollar
    }
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert_eq!(conversation.inspect().await.unwrap(), desk.rebuilt().await);
    assert_eq!(desk.rebuilt().await.added, more);
}

#[tokio::test]
async fn invariant_11_the_steps_of_an_agent_with_a_task_are_steps_of_whoever_gave_it() {
    let steps = "[{repeat: 9, tool_calls: [{name: terminal, arguments: {command: 'echo {{n}} >> steps'}}]}]";
    let others = Others::at(Desk::new(steps).await);
    let done = others.desk.executors.work.join("steps");
    let desk =
        Desk::new("[{tool_calls: [{name: task, arguments: {prompt: do it}}]}, {repeat: 2, text: done}]")
            .await;
    let limits = Limits {
        max_steps: 4,
        ..Desk::limits()
    };
    let conversation = opened_with(&desk, others, limits).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Error);
    let taken = std::fs::read_to_string(done).unwrap().lines().count();
    assert_eq!(taken, 3, "one was taken above");
    assert_eq!(desk.model.asked(), 1);
    let result = &results(&desk).await[0];
    assert!(
        result.1.contains("stopped before it was done: ") && result.1.contains("steps"),
        "{result:?}"
    );

    conversation.run().await.unwrap();
    assert_eq!(
        settled(&conversation).await.status,
        Status::Finished,
        "a run has its own steps"
    );
}

#[tokio::test]
async fn agents_below_agents_end_somewhere() {
    let others = Others::at(Desk::new("[{text: done}]").await);
    let desk = Desk::new("[{tool_calls: [{name: task, arguments: {prompt: one}}]}, {text: done}]").await;
    let limits = Limits {
        max_depth: Some(1),
        ..Desk::limits()
    };
    let conversation = opened_with(&desk, others, limits.clone()).await;
    desk.run(&conversation).await;
    assert_eq!(results(&desk).await[0].0, "completed");

    let desk = Desk::new("[{text: done}]").await;
    let others = Others::at(Desk::new("[{text: done}]").await);
    let limits = Limits {
        max_depth: Some(0),
        ..limits
    };
    let conversation = opened_with(&desk, others, limits).await;
    desk.run(&conversation).await;
    let tools = desk.model.requests.lock().unwrap()[0].tools.clone();
    assert!(
        tools.iter().all(|tool| tool.name != "task"),
        "there is no tool for it"
    );
}

#[tokio::test]
async fn no_more_agents_are_started_than_may_be() {
    let others = Others::at(Desk::new("[{repeat: 3, text: done}]").await);
    let script = r#"
- tool_calls: [{name: task, arguments: {prompt: none, subagent_type: unheard-of}}]
- tool_calls: [{name: task, arguments: {prompt: one}}]
- tool_calls: [{name: task, arguments: {prompt: two}}]
- text: all done
"#;
    let desk = Desk::new(script).await;
    let limits = Limits {
        max_agents: Some(1),
        ..Desk::limits()
    };
    let conversation = opened_with(&desk, others, limits).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    let results = results(&desk).await;
    assert!(results[0].1.contains("there is no kind"), "{results:?}");
    assert_eq!(results[1].0, "completed", "who was not started does not count");
    assert!(
        results[2].1.contains("as many agents as may were started"),
        "{results:?}"
    );
}

#[tokio::test]
async fn tokens_and_time_are_limits_too() {
    let thinks = "[{repeat: 50, tool_calls: [{name: terminal, arguments: {command: 'sleep 0.1; : {{n}}'}}]}]";
    let of = |max_tokens: Option<u64>, max_time: Option<u64>| Limits {
        max_tokens: max_tokens.map(deft_types::Tokens),
        max_time: max_time.map(std::time::Duration::from_millis),
        ..Desk::limits()
    };
    for (limits, words) in [
        (of(Some(3_000), None), "tokens is used"),
        (of(None, Some(300)), "time for one run"),
    ] {
        let desk = Desk::new(thinks).await;
        let conversation = desk.open_with(limits).await;
        assert_eq!(desk.run(&conversation).await.status, Status::Error);
        let events = desk.events().await;
        let EventBody::ConversationError(error) = &events.last().unwrap().body else {
            panic!("{events:#?}")
        };
        assert!(error.detail.contains(words), "{}", error.detail);
    }
}

#[tokio::test]
async fn a_command_that_takes_longer_than_the_run_may_is_stopped_in_time() {
    let script = r#"
- tool_calls: [{name: terminal, arguments: {command: "echo begun > begun; sleep 600"}}]
- text: went on
"#;
    let desk = Desk::new(script).await;
    let limits = Limits {
        max_time: Some(std::time::Duration::from_secs(1)),
        ..Desk::limits()
    };
    let conversation = desk.open_with(limits).await;
    let began = std::time::Instant::now();
    assert_eq!(desk.run(&conversation).await.status, Status::Error);
    assert!(began.elapsed() < std::time::Duration::from_secs(60));
    assert_eq!(desk.file("begun"), "begun\n");
    let events = desk.events().await;
    assert_paired(&events);
    let EventBody::ConversationError(error) = &events.last().unwrap().body else {
        panic!("{events:#?}")
    };
    assert!(error.detail.contains("time for one run"), "{}", error.detail);
    assert_eq!(conversation.inspect().await.unwrap(), desk.rebuilt().await);
    assert_eq!(
        desk.run(&conversation).await.status,
        Status::Finished,
        "and can go on"
    );
}
