//! What a person looks at and does about an agent's work: files, answers, the way back, output as it comes.

use std::fs;

use reqwest::Method;
use serde_json::{Value, json};

use crate::desk::{Desk, FINISH, Talk};

const WRITES: &str = "- tool_calls: [{name: terminal, arguments: {command: echo new > a.txt; mkdir -p sub; echo x > sub/b.txt}}]\n";

fn names(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().unwrap();
    items.iter().map(|item| item["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_workspace_is_looked_through_and_names_are_found() {
    let desk = Desk::new().await;
    let talk = desk.begin(&format!("{WRITES}{FINISH}")).await;
    desk.run(&talk).await;
    let top = desk.get(&talk.path("/entries")).await;
    assert_eq!(names(&top), ["a.txt", "sub"]);
    assert_eq!(top["items"][0]["kind"], "file");
    assert_eq!(top["items"][0]["size"], 4);
    let sub = desk.work().join("sub").display().to_string();
    let below = desk.get(&talk.path(&format!("/entries?path={sub}"))).await;
    assert_eq!(names(&below), ["b.txt"]);
    let found = desk.get(&talk.path("/entries/search?name=B.T")).await;
    let folder = desk.work().display().to_string();
    let before = desk
        .get(&format!("/api/file/search_entries?path={folder}&name=B.T"))
        .await;
    assert_eq!(
        before["items"], found["items"],
        "the same names before a conversation begins"
    );
    assert_eq!(names(&found), ["sub/b.txt"]);
    let (status, _) = desk
        .ask(Method::GET, &talk.path("/entries?path=/etc"), None)
        .await;
    assert_eq!(status, 422);
}

#[tokio::test]
async fn files_go_back_to_what_they_were_before_a_turn() {
    let desk = Desk::new().await;
    let talk = desk.begin(&format!("{WRITES}{FINISH}")).await;
    fs::write(desk.work().join("a.txt"), "old\n").unwrap();
    desk.run(&talk).await;
    let said = desk.get(&talk.path("")).await["last_user_message_id"].clone();
    let checkpoints = desk.get(&talk.path("/checkpoints")).await;
    let first = &checkpoints[0];
    assert_eq!(first["message_id"], said);
    let path = talk.path(&format!("/checkpoints/{}", first["id"]));
    let changes = desk.get(&path).await;
    let change = &changes.as_array().unwrap()[0];
    assert_eq!(
        (&change["path"], &change["effect"]),
        (&json!("a.txt"), &json!("modify"))
    );
    assert_eq!(
        fs::read_to_string(desk.work().join("a.txt")).unwrap(),
        "new\n",
        "looking changes nothing"
    );
    let restored = desk.post(&path, json!({})).await;
    assert!(restored["undo"].is_number());
    assert_eq!(fs::read_to_string(desk.work().join("a.txt")).unwrap(), "old\n");
    assert!(!desk.work().join("sub/b.txt").exists());
    let (status, _) = desk
        .refusal(Method::POST, &talk.path("/checkpoints/x"), json!({}))
        .await;
    assert_eq!(status, 422);
}

async fn waiting(desk: &Desk) -> (Talk, Value) {
    let script =
        format!("- tool_calls: [{{name: terminal, arguments: {{command: echo one > one}}}}]\n{FINISH}");
    let model = desk.script("waits.yaml", &script);
    let mut request = desk.start_request(&model);
    request["confirmation_policy"] = json!({"kind": "AlwaysConfirm"});
    let talk = desk.begin_with(request).await;
    desk.run(&talk).await;
    let events = desk.events(&talk).await;
    let action = events
        .iter()
        .find(|event| event["kind"] == "ActionEvent")
        .unwrap();
    (talk, action["id"].clone())
}

#[tokio::test]
async fn an_action_runs_as_a_person_has_changed_it() {
    let desk = Desk::new().await;
    let (talk, action) = waiting(&desk).await;
    let answers = talk.path("/answers");
    let (status, _) = desk.refusal(Method::POST, &answers, json!({"answers": []})).await;
    assert_eq!(status, 422, "each action needs an answer");
    let (status, _) = desk
        .refusal(
            Method::POST,
            &answers,
            json!({"answers": [{"action_id": action, "answer": "maybe"}]}),
        )
        .await;
    assert_eq!(status, 422);
    let edit = json!({"action_id": action, "answer": "edit", "arguments": {"command": "echo two > two"}});
    desk.post(&answers, json!({"answers": [edit]})).await;
    assert_eq!(desk.ended(&talk).await["execution_status"], "finished");
    assert!(desk.work().join("two").exists());
    assert!(!desk.work().join("one").exists());
}

#[tokio::test]
async fn output_is_told_as_it_comes_to_who_asks_for_it() {
    let desk = Desk::new().await;
    let script =
        format!("- tool_calls: [{{name: terminal, arguments: {{command: echo piece; sleep 1}}}}]\n{FINISH}");
    let talk = desk.begin(&script).await;
    let mut socket = desk
        .socket(&format!("/sockets/session/{}?tool_output=true", talk.0))
        .await;
    let mut plain = desk.socket(&format!("/sockets/session/{}", talk.0)).await;
    desk.say(&talk, "do it", true).await;
    let is_result = |frame: &Value| frame["event"]["kind"] == "ObservationEvent";
    let frames = socket.until(is_result).await;
    let output = frames.iter().find(|frame| frame["type"] == "output").unwrap();
    assert!(output["content"].as_str().unwrap().contains("piece"));
    let action = frames
        .iter()
        .find(|frame| frame["event"]["kind"] == "ActionEvent")
        .unwrap();
    assert_eq!(output["action_id"], action["event"]["id"]);
    let frames = plain.until(is_result).await;
    assert!(frames.iter().all(|frame| frame["type"] != "output"));
    desk.ended(&talk).await;
}

#[tokio::test]
async fn who_comes_in_the_middle_of_a_command_hears_what_it_wrote_before_once() {
    let desk = Desk::new().await;
    let command = "echo early; until [ -e go ]; do sleep 0.05; done; echo late";
    let script =
        format!("- tool_calls: [{{name: terminal, arguments: {{command: \"{command}\"}}}}]\n{FINISH}");
    let talk = desk.begin(&script).await;
    let path = format!("/sockets/session/{}?tool_output=true&after_seq=-1", talk.0);
    let mut first = desk.socket(&path).await;
    desk.say(&talk, "do it", true).await;
    first
        .until(|frame| frame["type"] == "output" && frame["content"].as_str().unwrap().contains("early"))
        .await;
    let mut second = desk.socket(&path).await;
    let mut frames = second
        .until(|frame| frame["type"] == "output" && frame["is_whole"] == true)
        .await;
    std::fs::write(desk.work().join("go"), "").unwrap();
    frames.extend(
        second
            .until(|frame| frame["event"]["kind"] == "ObservationEvent")
            .await,
    );
    let outputs = frames.iter().filter(|frame| frame["type"] == "output");
    let heard: String = outputs.map(|frame| frame["content"].as_str().unwrap()).collect();
    assert_eq!(heard.split_whitespace().collect::<Vec<_>>(), ["early", "late"]);
    desk.ended(&talk).await;
    let mut third = desk.socket(&path).await;
    let frames = third.until(|frame| frame["type"] == "transient").await;
    assert!(
        frames.iter().all(|frame| frame["type"] != "output"),
        "the answer says it"
    );
}

#[tokio::test]
async fn who_watches_hears_that_the_conversation_stands_elsewhere() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    desk.run(&talk).await;
    let said = desk.get(&talk.path("")).await["last_user_message_id"].clone();
    let mut socket = desk.socket(&format!("/sockets/session/{}", talk.0)).await;
    socket.next().await; // the greeting
    desk.post(&talk.path("/navigate"), json!({"event_id": said}))
        .await;
    socket
        .until(|frame| frame["event"]["value"]["leaf_event_id"] == said)
        .await;
}

#[tokio::test]
async fn a_model_is_tried_layer_by_layer() {
    let desk = Desk::new().await;
    let layers = desk
        .post(
            "/api/app/check_model",
            json!({"llm": {"model": "no-such-provider/x"}}),
        )
        .await;
    assert_eq!(layers[0]["layer"], "name");
    assert_eq!(layers[0]["ok"], false);
    assert!(layers[0]["remedy"].is_string());
    assert_eq!(desk.get("/api/app/local_models").await, json!([]));
}

#[tokio::test]
async fn a_changed_file_is_reverted_only_as_it_was_seen() {
    let desk = Desk::new().await;
    let script = "- tool_calls: [{name: terminal, arguments: {command: \"git init -q . && printf 'a\\\\377' > f && git add f && git -c user.name=a -c user.email=a@b commit -qm one && printf other > f\"}}]\n";
    let talk = desk.begin(&format!("{script}{FINISH}")).await;
    desk.run(&talk).await;
    let file = desk.work().join("f");
    let path = file.display().to_string();
    let look = talk.path(&format!("/git/review?path={path}"));
    let seen = desk.get(&look).await;
    assert_eq!(seen["content"], "binary");
    fs::write(&file, "mine").unwrap();
    let revert = json!({"path": path, "version": seen["version"]});
    let (status, said) = desk
        .refusal(Method::POST, &talk.path("/git/revert"), revert)
        .await;
    assert_eq!(status, 409, "{said}");
    assert_eq!(fs::read(&file).unwrap(), b"mine");
    let version = desk.get(&look).await["version"].clone();
    let revert = json!({"path": path, "version": version});
    desk.post(&talk.path("/git/revert"), revert).await;
    assert_eq!(fs::read(&file).unwrap(), b"a\xff");
}

#[tokio::test]
async fn what_a_tool_did_is_found_in_a_log_of_any_length() {
    let desk = Desk::new().await;
    let talk = desk.begin(&format!("{WRITES}{FINISH}")).await;
    desk.run(&talk).await;
    let found = async |query: &str| -> Vec<String> {
        let page = desk.get(&talk.path(&format!("/events/search?{query}"))).await;
        let items = page["items"].as_array().unwrap();
        items
            .iter()
            .map(|item| item["kind"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        found("tool_name=terminal").await,
        ["ActionEvent", "ObservationEvent"]
    );
    let results = "kind=ObservationEvent&sort_order=TIMESTAMP_DESC";
    assert_eq!(
        found(&format!("{results}&tool_name=terminal,finish")).await.len(),
        2
    );
    assert_eq!(
        found(&format!("{results}&tool_name=finish&limit=1")).await.len(),
        1
    );
    assert!(found("tool_name=grep").await.is_empty());
}
