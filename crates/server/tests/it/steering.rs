//! What clients do with a conversation besides talking to it.

use reqwest::Method;
use serde_json::{Value, json};

use crate::desk::{Desk, FINISH, Talk};

const TWO_COMMANDS: &str = "- tool_calls: [{name: terminal, arguments: {command: echo one > one, security_risk: HIGH}}]\n\
     - tool_calls: [{name: terminal, arguments: {command: echo two > two, security_risk: HIGH}}]\n";

fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["kind"] == kind).collect()
}

async fn begin_careful(desk: &Desk) -> Talk {
    let model = desk.script("careful.yaml", &format!("{TWO_COMMANDS}{FINISH}"));
    let mut request = desk.start_request(&model);
    request["confirmation_policy"] = json!({"kind": "AlwaysConfirm"});
    desk.begin_with(request).await
}

#[tokio::test]
async fn an_action_waits_for_a_word_and_is_done_or_not() {
    let desk = Desk::new().await;
    let talk = begin_careful(&desk).await;
    let respond = talk.path("/events/respond_to_confirmation");
    assert_eq!(
        desk.run(&talk).await["execution_status"],
        "waiting_for_confirmation"
    );
    assert!(!desk.work().join("one").exists());
    desk.post(&respond, json!({"accept": true})).await;
    assert_eq!(
        desk.ended(&talk).await["execution_status"],
        "waiting_for_confirmation"
    );
    assert!(desk.work().join("one").exists(), "what was allowed is done");
    desk.post(&respond, json!({"accept": false, "reason": "not today"}))
        .await;
    assert_eq!(desk.ended(&talk).await["execution_status"], "idle");
    let events = desk.events(&talk).await;
    let rejected = of_kind(&events, "UserRejectObservation");
    assert_eq!(rejected.len(), 1);
    assert_eq!(rejected[0]["rejection_reason"], "not today");
    assert!(!desk.work().join("two").exists(), "what was refused is not");
    desk.post(&respond, json!({"accept": false})).await;
    let refusal = desk.refusal(Method::POST, &respond, json!({})).await;
    assert_eq!(refusal.0, 422);
    assert_eq!(refusal.1[0]["loc"], json!(["body", "accept"]));
}

#[tokio::test]
async fn a_policy_is_changed_told_and_kept() {
    let mut desk = Desk::new().await;
    let talk = begin_careful(&desk).await;
    desk.run(&talk).await;
    desk.post(
        &talk.path("/confirmation_policy"),
        json!({"policy": {"kind": "NeverConfirm"}}),
    )
    .await;
    let analyzer = json!({"security_analyzer": {"kind": "LLMSecurityAnalyzer"}});
    desk.post(&talk.path("/security_analyzer"), analyzer).await;
    desk.post(
        &talk.path("/security_analyzer"),
        json!({"security_analyzer": null}),
    )
    .await;
    let events = desk.events(&talk).await;
    let updates: Vec<_> = events.iter().filter_map(|event| event["key"].as_str()).collect();
    assert!(
        updates.ends_with(&["confirmation_policy", "security_analyzer", "security_analyzer"]),
        "{updates:?}"
    );
    let info = desk.get(&talk.path("")).await;
    assert_eq!(info["confirmation_policy"], json!({"kind": "NeverConfirm"}));
    for (path, body) in [
        ("/confirmation_policy", json!({"policy": {"kind": "Nope"}})),
        (
            "/security_analyzer",
            json!({"security_analyzer": {"kind": "NopeAnalyzer"}}),
        ),
    ] {
        let (status, detail) = desk.refusal(Method::POST, &talk.path(path), body).await;
        assert_eq!(status, 422);
        assert!(
            detail[0]["msg"].as_str().unwrap().contains("Unknown kind 'Nope"),
            "{detail}"
        );
    }
    desk.stop().await;
    desk.start(|_| {}).await;
    desk.post(&talk.path("/run"), json!({})).await;
    assert_eq!(
        desk.ended(&talk).await["execution_status"],
        "finished",
        "nothing waits any more"
    );
}

#[tokio::test]
async fn a_copy_may_use_no_more_than_the_original() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    let limits = json!({"cost": "0.5", "agents": 3});
    desk.ask(Method::PUT, &talk.path("/budget"), Some(limits)).await;
    desk.post(&talk.path("/budget"), json!({"add": {"tokens": 7}}))
        .await;
    desk.run(&talk).await;
    let original = desk.get(&talk.path("/budget")).await;
    for (reset, added) in [(true, 0), (false, 7)] {
        let copy = desk
            .post(&talk.path("/fork"), json!({"reset_metrics": reset}))
            .await;
        let copy = Talk(copy["id"].as_str().unwrap().to_owned());
        let budget = desk.get(&copy.path("/budget")).await;
        assert_eq!(budget["limits"], original["limits"]);
        assert_eq!(
            budget["added"]["tokens"], added,
            "it comes along with what was used"
        );
    }
}

#[tokio::test]
async fn a_copy_begins_where_it_is_told_to_and_the_original_can_go_back() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    let info = desk.run(&talk).await;
    let events = desk.events(&talk).await;
    let said = of_kind(&events, "MessageEvent")[0]["id"].clone();
    let body = json!({"id": "dd1273ac-e4a6-4c1c-9d43-c1ca2fc6853f", "title": "f1", "tags": {"k": "v"},
        "from_event_id": said, "reset_metrics": false});
    let copy = desk.post(&talk.path("/fork"), body.clone()).await;
    assert_eq!(copy["id"], body["id"]);
    assert_eq!(
        (&copy["title"], &copy["tags"]),
        (&json!("f1"), &json!({"k": "v"}))
    );
    assert_eq!(copy["execution_status"], "idle");
    assert_eq!(copy["leaf_event_id"], said);
    assert_eq!(
        copy["last_user_message_id"],
        Value::Null,
        "nobody has spoken in it"
    );
    assert_eq!(copy["forked_from_conversation_id"], info["id"]);
    assert_eq!(copy["forked_from_event_id"], said);
    assert_eq!(desk.refusal(Method::POST, &talk.path("/fork"), body).await.0, 409);
    let unknown = json!({"from_event_id": "missing"});
    let (status, detail) = desk.refusal(Method::POST, &talk.path("/fork"), unknown).await;
    assert_eq!((status, detail), (404, json!("Unknown from_event_id: missing")));
    let (status, whole) = desk.ask(Method::POST, &talk.path("/fork"), None).await;
    assert_eq!(
        (status.as_u16(), &whole["stats"]["usage_to_metrics"]),
        (201, &json!({}))
    );
    let copied = Talk(whole["id"].as_str().unwrap().to_owned());
    assert_eq!(
        desk.run(&copied).await["execution_status"],
        "finished",
        "a copy can be talked to"
    );

    let moved = desk
        .post(&talk.path("/navigate"), json!({"event_id": said}))
        .await;
    assert_eq!(moved["leaf_event_id"], said);
    assert_eq!(moved["execution_status"], "finished");
    assert_eq!(desk.get(&talk.path("")).await["leaf_event_id"], said);
    let top = desk
        .post(&talk.path("/navigate"), json!({"event_id": null}))
        .await;
    assert_eq!(top["leaf_event_id"], Value::Null);
    assert_eq!(top["execution_status"], "finished");
    let (status, detail) = desk
        .refusal(Method::POST, &talk.path("/navigate"), json!({"event_id": "x"}))
        .await;
    assert_eq!((status, detail), (404, json!("Unknown event_id: x")));
    let after = desk.events(&talk).await;
    assert_eq!(after.len(), events.len(), "moving is no event that clients know");
}

#[tokio::test]
async fn another_model_answers_after_a_switch_and_after_a_restart() {
    let mut desk = Desk::new().await;
    let talk = desk.begin("- text: I am the first.\n").await;
    desk.run(&talk).await;
    let other = desk.script(
        "other.yaml",
        "- text: I am the other.\n- text: Still the other.\n",
    );
    let llm = json!({"llm": {"model": other, "api_key": "sk-other"}});
    desk.post(&talk.path("/switch_llm"), llm).await;
    let info = desk.run(&talk).await;
    assert_eq!(info["agent"]["llm"]["model"], other.as_str());
    assert!(!info.to_string().contains("sk-other"));
    let answer = desk.get(&talk.path("/agent_final_response")).await;
    assert_eq!(answer["response"], "Still the other.");
    desk.stop().await;
    desk.start(|_| {}).await;
    assert_eq!(
        desk.get(&talk.path("")).await["agent"]["llm"]["model"],
        other.as_str()
    );
    let acp = desk
        .refusal(
            Method::POST,
            &talk.path("/switch_acp_model"),
            json!({"model": "x"}),
        )
        .await;
    assert_eq!(acp.0, 400);
    let profile = desk
        .refusal(
            Method::POST,
            &talk.path("/switch_profile"),
            json!({"profile_name": "nope"}),
        )
        .await;
    assert_eq!(profile, (404, json!("Profile 'nope' not found")));
}

#[tokio::test]
async fn a_question_on_the_side_leaves_no_trace_and_condensing_needs_a_condenser() {
    let desk = Desk::new().await;
    let talk = desk.begin("- text: hello\n- text: on the side\n").await;
    desk.run(&talk).await;
    let before = of_kind(&desk.events(&talk).await, "MessageEvent").len();
    let answer = desk
        .post(&talk.path("/ask_agent"), json!({"question": "what is up?"}))
        .await;
    assert_eq!(answer, json!({"response": "on the side"}));
    assert_eq!(of_kind(&desk.events(&talk).await, "MessageEvent").len(), before);
    let (status, detail) = desk
        .refusal(Method::POST, &talk.path("/condense"), json!({}))
        .await;
    let expected = "Cannot condense conversation: No condenser configured";
    assert_eq!((status, detail), (409, json!(expected)));
}

#[tokio::test]
async fn a_goal_is_worked_towards_until_nothing_is_missing() {
    let desk = Desk::new().await;
    let judged = |complete: bool, missing: &str| {
        let verdict = json!({"score": 0.5, "complete": complete, "missing": missing}).to_string();
        format!("- text: '{verdict}'\n")
    };
    // A script answers by how often the model has spoken: the second step is a verdict and the next reply.
    let script = format!("- text: tried\n{}{}", judged(false, "a test"), judged(true, ""));
    let talk = desk.begin(&script).await;
    let goal = talk.path("/goal");
    let resume = desk
        .refusal(Method::POST, &talk.path("/goal/resume"), json!({}))
        .await;
    assert_eq!(resume, (400, json!("no_resumable_goal")));
    let empty = desk.refusal(Method::POST, &goal, json!({"objective": ""})).await;
    assert_eq!(empty, (400, json!("Goal objective must not be empty.")));
    let mut socket = desk.socket(&format!("/sockets/events/{}", talk.0)).await;
    desk.post(&goal, json!({"objective": "make it so", "max_iterations": 3}))
        .await;
    let frames = socket
        .until(|frame| frame["key"] == "goal" && frame["value"]["active"] == false)
        .await;
    let last = frames.last().unwrap();
    assert_eq!(last["value"]["status"], "complete");
    assert_eq!(last["value"]["iteration"], 2);
    assert_eq!(last["value"]["objective"], "make it so");
    let asked = of_kind(&frames, "MessageEvent");
    let texts: Vec<_> = asked
        .iter()
        .filter(|event| event["source"] == "user")
        .map(|event| event["llm_message"]["content"][0]["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts[0], "make it so");
    assert!(
        texts[1].contains("a test"),
        "it is told what is missing: {texts:?}"
    );
    desk.post(&talk.path("/goal/stop"), json!({})).await;
}

#[tokio::test]
async fn a_child_works_for_its_parent() {
    let desk = Desk::new().await;
    let parent = desk.begin("- text: done\n").await;
    let children = parent.path("/children");
    let body = json!({"task": "child task", "title": "kid", "isolation": "shared"});
    let child = desk.post(&children, body).await;
    assert_eq!(child["parent_conversation_id"], json!(parent.0));
    assert_eq!(
        (&child["title"], &child["isolation"]),
        (&json!("kid"), &json!("shared"))
    );
    assert_eq!(child["workspace"], json!(desk.work()));
    let talk = Talk(child["conversation_id"].as_str().unwrap().to_owned());
    let info = desk.ended(&talk).await;
    assert_eq!(info["parent_conversation_id"], json!(parent.0));
    assert_eq!(info["title"], "kid");
    let of_parent = desk.get(&parent.path("")).await;
    assert_eq!(of_parent["sub_conversation_ids"], json!([talk.0]));
    let (status, detail) = desk.refusal(Method::POST, &children, json!({"task": ""})).await;
    assert_eq!((status, &detail[0]["type"]), (422, &json!("string_too_short")));
}
