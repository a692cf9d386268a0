//! What is counted of calls that never come to an end, and of each call by itself.

use deft_types::{EventBody, Status};

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
