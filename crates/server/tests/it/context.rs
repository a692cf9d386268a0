//! What the model would be sent next.

use reqwest::Method;
use serde_json::{Value, json};

use crate::desk::{Desk, FINISH, Talk};

const STEPS: usize = 6;

/// A conversation that makes some steps, and whose memory a model keeps short.
async fn begin(desk: &Desk) -> Talk {
    let work = format!(
        "- tool_calls: [{{name: terminal, arguments: {{command: 'echo number {{{{n}}}}'}}}}]\n  repeat: {STEPS}\n{FINISH}"
    );
    let summary = desk.script("summary.yaml", "- text: we have counted");
    let mut request = desk.start_request(&desk.script("work.yaml", &work));
    request["agent"]["condenser"] =
        json!({"kind": "LLMSummarizingCondenser", "llm": {"model": summary, "usage_id": "condenser"}});
    desk.begin_with(request).await
}

fn entries(context: &Value) -> &Vec<Value> {
    context["entries"].as_array().unwrap()
}

#[tokio::test]
async fn the_context_has_every_message_in_its_order_and_the_newest_where_few_are_wanted() {
    let desk = Desk::new().await;
    let talk = begin(&desk).await;
    let path = talk.path("/context");
    let nothing = desk.get(&path).await;
    assert_eq!((&nothing["tokens"], &nothing["entries"]), (&json!(0), &json!([])));
    desk.run(&talk).await;
    let context = desk.get(&path).await;
    let kinds: Vec<_> = entries(&context).iter().map(|entry| &entry["kind"]).collect();
    assert_eq!(kinds[..4], ["prompt", "user", "calls", "results"]);
    assert_eq!(kinds.len(), 2 + 2 * (STEPS + 1));
    let by_kind = context["kinds"].as_object().unwrap().values();
    let sum: u64 = by_kind.filter_map(Value::as_u64).sum();
    assert_eq!(context["tokens"], sum);
    assert!(context["kinds"]["tools"].as_u64() > Some(100), "{context}");
    let mut tools = context["tools"].as_array().unwrap().iter();
    let terminal = tools.find(|tool| tool["name"] == "terminal").unwrap();
    assert_eq!(terminal["parameters"]["properties"]["command"]["type"], "string");
    let result = &entries(&context)[3];
    assert_eq!(result["tool"], "terminal");
    assert!(result["text"].as_str().unwrap().contains("number"), "{result}");

    let newest = desk.get(&format!("{path}?limit=2")).await;
    assert_eq!(newest["earlier"]["entries"], kinds.len() - 2);
    assert_eq!(entries(&newest)[..], entries(&context)[kinds.len() - 2..]);
    assert_eq!(newest["tokens"], context["tokens"]);
    let refusal = desk
        .refusal(Method::GET, &format!("{path}?limit=0"), Value::Null)
        .await;
    assert_eq!(refusal.0, 422);
}

#[tokio::test]
async fn a_summary_says_how_much_it_stands_for_also_when_nothing_is_loaded() {
    let mut desk = Desk::new().await;
    let talk = begin(&desk).await;
    desk.run(&talk).await;
    let before = entries(&desk.get(&talk.path("/context")).await).len();
    desk.post(&talk.path("/condense"), json!({})).await;
    let context = desk.get(&talk.path("/context")).await;
    let summary = entries(&context)
        .iter()
        .find(|entry| entry["kind"] == "summary")
        .expect("there is a summary");
    assert_eq!(summary["text"], "we have counted");
    assert_eq!(summary["left_out"], before + 1 - entries(&context).len());
    let condensation = format!("/events/{}", summary["event_id"].as_str().unwrap());
    assert_eq!(desk.get(&talk.path(&condensation)).await["kind"], "Condensation");

    desk.stop().await;
    desk.start(|_| {}).await;
    let reloaded = desk.get(&talk.path("/context")).await;
    let told = |context: &Value| -> Vec<Value> {
        let told = entries(context).iter();
        told.map(|entry| json!([entry["event_id"], entry["kind"], entry["left_out"], entry["text"]]))
            .collect()
    };
    assert_eq!(told(&reloaded), told(&context));
    assert!(reloaded["kinds"]["tools"].as_u64() > Some(100), "{reloaded}");
}
