//! An agent that only plans, until its plan is approved.

use reqwest::Method;
use serde_json::json;

use crate::desk::Desk;

const PLANS: &str = "- tool_calls: [{name: terminal, arguments: {command: touch broken}}]\n- text: the plan\n\
     - tool_calls: [{name: terminal, arguments: {command: touch made}}]\n- text: done\n";

#[tokio::test]
async fn an_agent_that_plans_has_no_tool_to_change_things_until_its_plan_is_approved() {
    let desk = Desk::new().await;
    let talk = desk.begin(PLANS).await;
    let plan = talk.path("/plan");
    let approve = talk.path("/plan/approve");
    assert_eq!(desk.refusal(Method::POST, &approve, json!({})).await.0, 409);
    desk.post(&plan, json!({})).await;
    assert_eq!(desk.get(&plan).await["mode"], "plan");
    assert_eq!(desk.run(&talk).await["execution_status"], "finished");
    assert!(!desk.work().join("broken").exists());
    let events = desk.events(&talk).await;
    let refused = events
        .iter()
        .find(|event| event["kind"] == "AgentErrorEvent")
        .unwrap();
    assert!(
        refused["error"]
            .as_str()
            .unwrap()
            .contains("'planning_file_editor'"),
        "{refused}"
    );

    desk.post(&approve, json!({"message": "be quick"})).await;
    let ended = desk.ended(&talk).await;
    assert_eq!(
        ended["execution_status"],
        "finished",
        "{:#?}",
        desk.events(&talk).await
    );
    assert!(desk.work().join("made").exists());
    assert_eq!(desk.get(&plan).await["mode"], "act");
}
