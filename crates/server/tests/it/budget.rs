//! What a conversation may use.

use reqwest::Method;
use serde_json::json;

use crate::desk::Desk;

#[tokio::test]
async fn a_conversation_stops_at_its_budget_and_goes_on_when_there_is_more() {
    let mut desk = Desk::new().await;
    let script = "[{repeat: 2, tool_calls: [{name: terminal, arguments: {command: 'true {{n}}'}}], cost: 1}, {text: done}]";
    let talk = desk.begin(script).await;
    let budget = talk.path("/budget");
    let (status, set) = desk.ask(Method::PUT, &budget, Some(json!({"cost": 1.5}))).await;
    assert_eq!((status.as_u16(), &set["limits"]["cost"]), (200, &json!(1.5)));
    assert_eq!(desk.run(&talk).await["execution_status"], "error");
    let events = desk.events(&talk).await;
    let error = events
        .iter()
        .rfind(|event| event["kind"] == "ConversationErrorEvent");
    assert_eq!(error.unwrap()["code"], "MaxBudgetReached");

    desk.stop().await;
    desk.start(|_| {}).await;
    let more = json!({"id": "more-1", "add": {"cost": 1}});
    desk.post(&budget, more.clone()).await;
    let shown = desk.post(&budget, more).await;
    assert_eq!(shown["added"]["cost"], 1.0, "the same id again adds nothing");
    assert_eq!(shown["used"]["cost"], 2.0);
    desk.post(&budget, json!({"id": "more-2", "run": true})).await;
    assert_eq!(desk.ended(&talk).await["execution_status"], "finished");
    let refusal = desk.refusal(Method::PUT, &budget, json!({"dollars": 1})).await;
    assert_eq!(refusal.0, 422, "{}", refusal.1);
}

#[tokio::test]
async fn who_asks_twice_for_more_while_it_runs_is_answered_twice() {
    let desk = Desk::new().await;
    let talk = desk
        .begin("[{tool_calls: [{name: terminal, arguments: {command: sleep 60}}]}]")
        .await;
    let more = json!({"id": "more", "add": {"cost": 1}, "run": true});
    for _ in 0..2 {
        let shown = desk.post(&talk.path("/budget"), more.clone()).await;
        assert_eq!(shown["added"]["cost"], 1.0);
    }
    desk.post(&talk.path("/interrupt"), json!({})).await;
}
