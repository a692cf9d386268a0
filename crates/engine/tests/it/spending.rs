//! What is counted of calls, and that nobody is asked when nothing is left to pay with.

use std::sync::Arc;

use deft_engine::{
    AsideError, Budget, CommandError, Conversation, Extensions, Goal, HookConfig, Limits, Models, Supervision,
};
use deft_llm::{Model, OpenModelError};
use deft_types::{EventBody, EventId, Message, Role, Status, Tokens, text_of};
use serde_json::json;

use crate::desk::{Desk, say, settled};

#[tokio::test]
async fn what_an_interrupted_call_used_is_estimated_and_said_to_be() {
    let desk = Desk::new("[{stall: true}, {text: hello}]").await;
    let conversation = desk.open().await;
    say(&conversation, "do it").await;
    conversation.run().await.unwrap();
    while desk.model.asked() == 0 {
        tokio::task::yield_now().await;
    }
    conversation.interrupt().await.unwrap();
    let state = conversation.inspect().await.unwrap();
    let metrics = &state.stats.usage_to_metrics["agent"];
    let used = metrics.accumulated_token_usage.as_ref().unwrap();
    assert!(used.prompt_tokens.0 > 100, "the prompt was sent: {used:?}");
    assert_eq!(used.completion_tokens.0, 0, "and nothing came");
    assert_eq!(metrics.extra["estimated_calls"], 1);
    assert_eq!(state, desk.rebuilt().await);
}

#[tokio::test]
async fn each_update_of_the_stats_tells_of_its_own_call_only() {
    let script =
        "[{tool_calls: [{name: think, arguments: {thought: hm}}], cost: 0.25}, {text: done, cost: 0.5}]";
    let desk = Desk::new(script).await;
    let conversation = desk.open().await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    settled(&conversation).await;
    let events = desk.events().await;
    let costs: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::StateUpdate(update) if update.key == "stats" => {
                Some(update.value["usage_to_metrics"]["agent"].clone())
            }
            _ => None,
        })
        .map(|agent| {
            assert_eq!(agent["token_usages"].as_array().unwrap().len(), 1);
            assert_eq!(agent["response_latencies"].as_array().unwrap().len(), 1);
            agent["costs"][0]["cost"].as_f64().unwrap()
        })
        .collect();
    assert_eq!(costs, [0.25, 0.5]);
    let state = desk.rebuilt().await;
    assert_eq!(state.stats.total_cost().to_string(), "$0.75");
    assert_eq!(conversation.inspect().await.unwrap(), state);
}

fn tokens(most: u64) -> Limits {
    Limits {
        max_tokens: Some(Tokens(most)),
        ..Desk::limits()
    }
}

/// One model by the name `oracle`.
struct Oracle(Arc<dyn Model>);

impl Models for Oracle {
    fn names(&self) -> Vec<String> {
        vec!["oracle".to_owned()]
    }

    fn open(&self, _: &str) -> Result<Arc<dyn Model>, OpenModelError> {
        Ok(self.0.clone())
    }
}

#[tokio::test]
async fn with_its_tokens_used_a_conversation_asks_nobody_anything() {
    let desk = Desk::new("[{text: first}, {text: second}, {text: third}]").await;
    let conversation = desk.open_with(tokens(1)).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    assert_eq!(desk.model.asked(), 1);
    let aside = conversation.ask_aside("how far are you?").await.unwrap_err();
    assert!(
        matches!(&aside, AsideError::Command(CommandError::BudgetSpent(_))),
        "{aside}"
    );
    assert!(aside.to_string().contains("1 tokens is used"), "{aside}");
    let judged = Goal::new("all of it".to_owned(), 3).judge(&conversation).await;
    assert!(judged.is_err());
    say(&conversation, "one more thing").await; // so that there is something to forget
    conversation.condense().await.unwrap();
    assert_eq!(desk.model.asked(), 1);

    let more = Budget {
        tokens: Tokens(1_000_000),
        ..Budget::default()
    };
    let id = EventId("more".to_owned());
    conversation.add_budget(id, more).await.unwrap();
    conversation.ask_aside("how far are you?").await.unwrap();
    assert_eq!(desk.model.asked(), 2);
}

#[tokio::test]
async fn a_title_an_oracle_and_a_hook_are_not_asked_when_the_tokens_are_used() {
    let script = "[{tool_calls: [{name: ask_oracle, arguments: {question: why}}]}, {text: done}]";
    let desk = Desk::new(script).await;
    let mut parts = desk.parts(tokens(1)).await;
    parts.models = Some(Arc::new(Oracle(desk.model.clone())));
    let hooks = json!({"PostToolUse": [{"hooks": [{"type": "prompt", "prompt": "Is this good?"}]}]});
    parts.extensions = Extensions {
        hooks: HookConfig::parse(&hooks).unwrap(),
        ..Extensions::default()
    };
    let conversation = Conversation::open(parts).await.unwrap();
    assert_eq!(desk.run(&conversation).await.status, Status::Error);
    assert_eq!(
        desk.model.asked(),
        1,
        "the step that was begun, and nobody beside it"
    );
    let events = desk.events().await;
    let advice = events.iter().find_map(|event| match &event.body {
        EventBody::Observation(result) => Some(text_of(&result.observation.content())),
        _ => None,
    });
    assert!(advice.unwrap().contains("the budget is spent"));

    let desk = Desk::new("[{text: first}]").await;
    let mut parts = desk.parts(tokens(0)).await;
    parts.supervision = Supervision {
        titles: Some(desk.model.clone()),
        ..Supervision::default()
    };
    let conversation = Conversation::open(parts).await.unwrap();
    say(&conversation, "do it").await;
    conversation.inspect().await.unwrap();
    assert_eq!(desk.model.asked(), 0);
}

#[tokio::test]
async fn what_is_added_under_an_id_that_something_else_has_is_refused() {
    let desk = Desk::new("[{text: first}]").await;
    let conversation = desk.open().await;
    let id = EventId("taken".to_owned());
    conversation
        .send(id.clone(), Message::text(Role::User, "do it"))
        .await
        .unwrap();
    let more = Budget {
        steps: 1,
        ..Budget::default()
    };
    let added = conversation.add_budget(id, more).await;
    assert!(matches!(added, Err(CommandError::IdTaken(_))), "{added:?}");
    for _ in 0..2 {
        conversation
            .add_budget(EventId("new".to_owned()), more)
            .await
            .unwrap();
    }
    assert_eq!(conversation.inspect().await.unwrap().added.steps, 1);
}
