//! Our answers beside those that were recorded from the server whose contract this is.

use reqwest::Method;
use serde_json::{Value, json};

use crate::desk::{Desk, FINISH, KEY};

/// What differs between two values in their form: fields that one lacks, and values of another type.
fn differences(place: &str, recorded: &Value, ours: &Value, found: &mut Vec<String>) {
    match (recorded, ours) {
        (Value::Object(recorded), Value::Object(ours)) => {
            for (name, value) in recorded {
                match ours.get(name) {
                    Some(our) => differences(&format!("{place}.{name}"), value, our, found),
                    None => found.push(format!("{place}.{name} is missing")),
                }
            }
            for name in ours.keys().filter(|name| !recorded.contains_key(*name)) {
                found.push(format!("{place}.{name} is not in the contract"));
            }
        }
        (Value::Array(recorded), Value::Array(ours)) => {
            if let (Some(recorded), Some(ours)) = (recorded.first(), ours.first()) {
                differences(&format!("{place}[0]"), recorded, ours, found);
            }
        }
        (recorded, ours) if std::mem::discriminant(recorded) == std::mem::discriminant(ours) => {}
        (recorded, ours) => found.push(format!("{place}: {recorded} was recorded, ours is {ours}")),
    }
}

/// The differences that are not allowed for.
fn unlike(recorded: &Value, ours: &Value, allowed: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    differences("", recorded, ours, &mut found);
    found.retain(|difference| !allowed.iter().any(|allowed| difference.starts_with(allowed)));
    found
}

#[track_caller]
fn assert_same_form(recorded: &Value, ours: &Value, allowed: &[&str]) {
    let found = unlike(recorded, ours, allowed);
    assert!(found.is_empty(), "{}\n{ours}", found.join("\n"));
}

fn data(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[tokio::test]
async fn a_conversation_is_described_as_recorded() {
    let desk = Desk::new().await;
    let recorded = data(include_str!("../data/create.json"));
    let mut request = recorded["request"].clone();
    request["agent"]["llm"]["model"] = desk.script("s.yaml", FINISH).into();
    request["workspace"]["working_dir"] = json!(desk.work());
    let info = desk.post("/api/conversations", request).await;
    assert_same_form(&recorded["response"], &info, &[]);
    let mut expected = recorded["response"]["agent"].clone();
    expected["llm"]["model"] = info["agent"]["llm"]["model"].clone();
    assert_eq!(
        info["agent"], expected,
        "the agent is echoed whole, without its key"
    );
    assert!(!info.to_string().contains("sk-fake-key"));
    let id = info["id"].as_str().unwrap();
    let got = desk
        .get(&format!("/api/conversations/{}", id.replace('-', "")))
        .await;
    assert_eq!(got["id"], info["id"], "ids are read with and without dashes");
    assert_eq!(got["runtime_info"]["runtime_status"], "available");
}

#[tokio::test]
async fn a_run_is_told_in_the_recorded_frames() {
    let desk = Desk::new().await;
    let script = format!(
        "- text: I will run a command first.\n  tool_calls: [{{name: terminal, arguments: {{command: echo hello; pwd, summary: greet}}}}]\n\
         - text: Now create a file.\n  tool_calls: [{{name: file_editor, arguments: {{command: create, path: {}/hello.txt, file_text: hi}}}}]\n{FINISH}",
        desk.work().display()
    );
    let talk = desk.begin(&script).await;
    let mut socket = desk.socket(&format!("/sockets/events/{}", talk.0)).await;
    let mut frames = vec![socket.next().await];
    desk.say(&talk, "Please do the basic thing.", false).await;
    desk.post(&talk.path("/run"), Value::Null).await;
    let is_end = |frame: &Value| frame["key"] == "full_state";
    frames.extend(socket.until(is_end).await);

    let recorded = data(include_str!("../data/run_frames.json"));
    let name = |frame: &Value| {
        let part = ["key", "tool_name"].map(|field| frame[field].as_str().unwrap_or_default().to_owned());
        (frame["kind"].as_str().unwrap().to_owned(), part)
    };
    for frame in &frames {
        let is_like = |other: &&Value| name(other) == name(frame);
        let models: Vec<_> = recorded.as_array().unwrap().iter().filter(is_like).collect();
        if models.is_empty() {
            assert_eq!(frame["key"], "agent", "no such frame was recorded: {frame}");
        }
        // The first state is of a conversation in which nothing was said yet.
        let early = if frame == &frames[0] {
            vec![
                ".value.last_user_message_id",
                ".value.leaf_event_id",
                ".value.stats",
            ]
        } else {
            Vec::new()
        };
        let optional = [
            ".parent_id", // not on the very first event
            ".value.stats.usage_to_metrics.ask-agent-llm",
            ".value.agent.llm.base_url", // none here
            ".value.secret_registry",
            ".observation.full_output_save_dir", // only where something was cut
            ".observation.metadata.py_interpreter_path",
            ".observation.path", // the recorded calls failed
            ".observation.new_content",
            ".observation.prev_exist",
            ".observation.old_content",
            ".dynamic_context",
            ".tools[0].annotations",
        ];
        let allowed = [&early[..], &optional[..]].concat();
        let found: Vec<_> = models
            .iter()
            .map(|model| unlike(model, frame, &allowed))
            .collect();
        assert!(
            found.is_empty() || found.iter().any(Vec::is_empty),
            "{found:?}\n{frame}"
        );
    }
    let keys: Vec<_> = frames.iter().filter_map(|frame| frame["key"].as_str()).collect();
    assert!(
        !keys.contains(&"executor") && !keys.contains(&"unseen_message_ids"),
        "{keys:?}"
    );
    assert_eq!(keys.first(), Some(&"full_state"));
    let statuses: Vec<_> = frames
        .iter()
        .filter(|frame| frame["key"] == "execution_status")
        .collect();
    assert_eq!(statuses[0]["value"], "running");
    assert_eq!(statuses[1]["value"], "finished");
    assert_eq!(frames.last().unwrap()["value"]["execution_status"], "finished");
    let stored = desk.events(&talk).await;
    let told: Vec<_> = frames
        .iter()
        .filter(|frame| frame["key"] != "full_state")
        .collect();
    assert_eq!(
        stored.iter().collect::<Vec<_>>(),
        told,
        "a search gives what the socket told"
    );
}

#[tokio::test]
async fn what_was_refused_is_refused_in_the_same_words() {
    let desk = Desk::new().await;
    let known = desk.begin(FINISH).await;
    for case in data(include_str!("../data/refusals.json")).as_array().unwrap() {
        let path = case["path"].as_str().unwrap().replace("{known}", &known.0);
        let method: Method = case["method"].as_str().unwrap().parse().unwrap();
        let query: Vec<_> = case["query"].as_object().unwrap().iter().collect();
        let query = query
            .iter()
            .map(|(name, value)| format!("{name}={}", value.as_str().unwrap()))
            .collect::<Vec<_>>()
            .join("&");
        let request = desk
            .request(method.clone(), &format!("{path}?{query}"))
            .header("X-Session-API-Key", KEY)
            .header("Content-Type", "application/json");
        let answer = match &case["body"] {
            Value::Null => request.send().await.unwrap(),
            Value::String(text) => request.body(text.clone()).send().await.unwrap(),
            body => request.body(body.to_string()).send().await.unwrap(),
        };
        let status = answer.status().as_u16();
        let mut ours: Value = answer.json().await.unwrap();
        let mut recorded = case["answer"].clone();
        // How JSON is broken, and ids of failures, are said by each in its own way.
        for answer in [&mut ours, &mut recorded] {
            if answer["detail"][0]["type"] == "json_invalid" {
                answer["detail"][0]["ctx"] = Value::Null;
            }
            if answer.get("error_id").is_some() {
                answer["error_id"] = "an id".into();
            }
            if answer["detail"][0]["type"] == "uuid_parsing" {
                answer["detail"][0]["msg"] = Value::Null;
                answer["detail"][0]["ctx"] = Value::Null;
            }
        }
        assert_eq!(
            Some(u64::from(status)),
            case["status"].as_u64(),
            "{method} {path}: {ours}"
        );
        assert_eq!(ours, recorded, "{method} {path}?{query}");
    }
}

#[tokio::test]
async fn the_server_describes_itself_as_recorded() {
    let desk = Desk::new().await;
    let recorded = data(include_str!("../data/server.json"));
    for path in ["/alive", "/health", "/ready"] {
        assert_eq!(
            desk.get(path).await,
            recorded[format!("GET {path}")]["body"],
            "{path}"
        );
    }
    let info = desk.get("/server_info").await;
    assert_same_form(&recorded["GET /server_info"]["body"], &info, &[]);
    assert_eq!(desk.get("/").await["version"], "1.58.0");
    assert_same_form(
        &recorded["GET /api/tools/catalog"]["body"],
        &desk.get("/api/tools/catalog").await,
        &[],
    );
    let names = desk.get("/api/tools/").await;
    for name in [
        "terminal",
        "file_editor",
        "apply_patch",
        "grep",
        "task_tool_set",
        "task",
        "switch_llm",
    ] {
        assert!(
            names.as_array().unwrap().contains(&json!(name)),
            "{name}: {names}"
        );
    }
    let default_of = async |model: &str| {
        let catalog = desk.get(&format!("/api/tools/catalog?model={model}")).await;
        let tools = catalog["tools"].as_array().unwrap().clone().into_iter();
        let default = tools.filter(|tool| tool["in_default_set"] == true);
        default
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let (usual, of_patches) = (default_of("demo").await, default_of("openai/gpt-5").await);
    assert!(usual.contains(&"file_editor".to_owned()) && !usual.contains(&"apply_patch".to_owned()));
    assert!(
        of_patches.contains(&"apply_patch".to_owned()) && !of_patches.contains(&"file_editor".to_owned())
    );
    for name in ["terminal", "grep", "glob", "task_tracker", "task_tool_set"] {
        assert!(usual.contains(&name.to_owned()), "{name}: {usual:?}");
    }
    let (status, _) = desk.ask(Method::GET, "/api/tools", None).await;
    assert_eq!(status, 307);
    let (status, body) = desk.ask(Method::POST, "/alive", None).await;
    assert_eq!((status.as_u16(), &body), (405, &recorded["POST /alive"]["body"]));
}

#[tokio::test]
async fn single_events_come_with_their_nulls() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    desk.run(&talk).await;
    let events = desk.events(&talk).await;
    let message = events
        .iter()
        .find(|event| event["kind"] == "MessageEvent")
        .unwrap();
    let id = message["id"].as_str().unwrap();
    let recorded = data(include_str!("../data/event_with_nulls.json"));
    let one = desk.get(&talk.path(&format!("/events/{id}"))).await;
    assert_same_form(&recorded, &one, &[]);
    let batch = desk
        .ask(Method::GET, &talk.path("/events"), Some(json!([id, "missing"])))
        .await;
    assert_eq!(batch.1, json!([one, null]));
    let (status, _) = desk.ask(Method::GET, &talk.path("/events/missing"), None).await;
    assert_eq!(status, 404);
}
