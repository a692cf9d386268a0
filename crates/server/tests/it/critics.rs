//! Critics that clients ask for, in an agent or by settings.

use deft_types::{ConversationId, EventBody, Seq};
use serde_json::{Value, json};

use crate::desk::{Desk, Talk};

/// What critics said, in the order of the log, which clients of the contract are not told.
async fn verdicts(desk: &Desk, talk: &Talk) -> Vec<Value> {
    let id = ConversationId(talk.0.parse().unwrap());
    let events = desk.store().read(id, Seq::FIRST, 1000).await.unwrap();
    let told = events.into_iter().filter_map(|(_, event)| match event.body {
        EventBody::StateUpdate(update) if update.key == "critic" => Some(update.value),
        _ => None,
    });
    told.collect()
}

#[tokio::test]
async fn a_critic_is_of_the_kind_that_the_client_names() {
    let desk = Desk::new().await;
    let refinement = json!({"success_threshold": 0.6, "max_iterations": 1});
    for (kind, refined, scores, asked) in [
        ("EmptyPatchCritic", &refinement, vec![0.0, 0.0], 2),
        ("EmptyPatchCritic", &Value::Null, vec![0.0], 1),
        ("AgentFinishedCritic", &refinement, vec![0.0, 0.0], 2),
        ("PassCritic", &refinement, vec![1.0], 1),
    ] {
        let model = desk.script("talk.yaml", "[{text: done}, {text: still done}]");
        let mut request = desk.start_request(&model);
        request["agent"]["critic"] = json!({"kind": kind, "iterative_refinement": refined});
        let talk = desk.begin_with(request).await;
        let state = desk.run(&talk).await;
        assert_eq!(state["execution_status"], "finished", "{kind}");
        let told = verdicts(&desk, &talk).await;
        let found: Vec<_> = told.iter().filter_map(|told| told["score"].as_f64()).collect();
        assert_eq!(found, scores, "{kind}");
        let events = desk.events(&talk).await;
        let said: Vec<_> = events
            .iter()
            .filter(|event| event["kind"] == "MessageEvent" && event["source"] == "agent")
            .filter_map(|event| event["critic_result"]["score"].as_f64())
            .collect();
        assert_eq!(said, scores, "{kind}");
        let replies = desk.events(&talk).await;
        let replies = replies
            .iter()
            .filter(|event| event["kind"] == "MessageEvent" && event["source"] == "agent");
        assert_eq!(replies.count(), asked, "{kind}");
    }
}

#[tokio::test]
async fn settings_that_want_a_critic_have_results_sent_back() {
    let desk = Desk::new().await;
    // The model that answers judges as well: a script answers both first requests with its first words.
    let verdict = r#"[{text: '{"score": 0.1, "message": "no test"}'}, {text: second}]"#;
    let model = desk.script("judged.yaml", verdict);
    let mut request = desk.start_request(&model);
    let llm = request["agent"]["llm"].take();
    request.as_object_mut().unwrap().remove("agent");
    request["agent_settings"] = json!({"llm": llm, "tools": [], "verification": {
        "critic_enabled": true, "enable_iterative_refinement": true, "max_refinement_iterations": 1}});
    let talk = desk.begin_with(request).await;
    assert_eq!(desk.run(&talk).await["execution_status"], "finished");
    let told = verdicts(&desk, &talk).await;
    let told: Vec<_> = told
        .iter()
        .map(|told| (told["score"].clone(), told["goes_on"].clone()))
        .collect();
    assert_eq!(told, [(json!(0.1), json!(true)), (json!(0.1), json!(false))]);
}
