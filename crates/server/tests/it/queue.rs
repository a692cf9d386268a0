//! Messages that wait for the end of the turn, and the way back.

use reqwest::Method;
use serde_json::{Value, json};

use crate::desk::Desk;

const WAITS: &str = "- tool_calls: [{name: terminal, arguments: {command: 'touch begun; until [ -e go ]; do sleep 0.01; done'}}]\n\
     - text: first\n- text: second\n";

fn message(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": text}]})
}

#[tokio::test]
async fn a_client_queues_edits_and_removes_messages_and_the_rest_is_said_when_the_turn_ends() {
    let desk = Desk::new().await;
    let talk = desk.begin(WAITS).await;
    desk.say(&talk, "do it", true).await;
    while !desk.work().join("begun").exists() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let queue = talk.path("/queue");
    for (id, text) in [("a", "and then"), ("a", "again"), ("b", "never")] {
        let mut body = message(text);
        body["id"] = id.into();
        desk.post(&queue, body).await;
    }
    let ids = |queue: &Value| -> Vec<Value> {
        let queue = queue["queue"].as_array().unwrap();
        queue.iter().map(|queued| queued["id"].clone()).collect()
    };
    assert_eq!(ids(&desk.get(&queue).await), ["a", "b"]);
    let (_, ordered) = desk.ask(Method::PUT, &queue, Some(json!({"order": ["b"]}))).await;
    assert_eq!(ids(&ordered), ["b", "a"]);
    let (_, left) = desk.ask(Method::DELETE, &format!("{queue}/b"), None).await;
    assert_eq!(ids(&left), ["a"]);
    let edited = desk
        .ask(Method::PATCH, &format!("{queue}/a"), Some(message("and now")))
        .await;
    assert_eq!(edited.0, 200);
    let gone = desk
        .refusal(Method::PATCH, &format!("{queue}/b"), message("x"))
        .await;
    assert_eq!(gone.0, 404);

    std::fs::write(desk.work().join("go"), "").unwrap();
    assert_eq!(desk.ended(&talk).await["execution_status"], "finished");
    assert_eq!(ids(&desk.get(&queue).await), Vec::<Value>::new());
    let events = desk.events(&talk).await;
    let said: Vec<_> = events
        .iter()
        .filter(|event| event["source"] == "user" && event["kind"] == "MessageEvent")
        .map(|event| event["llm_message"]["content"][0]["text"].clone())
        .collect();
    assert_eq!(said, ["do it", "and now"]);
}

#[tokio::test]
async fn what_an_agent_changed_is_its_own_work_also_if_a_queued_message_came_behind() {
    let desk = Desk::new().await;
    let waits = "touch begun; until [ -e go ]; do sleep 0.01; done; echo one > a";
    let script = format!(
        "- tool_calls: [{{name: terminal, arguments: {{command: '{waits}'}}}}]\n- text: first\n- text: second\n"
    );
    let talk = desk.begin(&script).await;
    desk.say(&talk, "do it", true).await;
    while !desk.work().join("begun").exists() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    desk.post(&talk.path("/queue"), message("only answer")).await;
    std::fs::write(desk.work().join("go"), "").unwrap();
    assert_eq!(desk.ended(&talk).await["execution_status"], "finished");
    let checkpoints = desk.get(&talk.path("/checkpoints")).await;
    let first = talk.path(&format!("/checkpoints/{}", checkpoints[0]["id"]));
    let (status, changes) = loop {
        let looked = desk.ask(Method::GET, &first, None).await;
        if looked.0 != 409 {
            break looked; // what the agent left is being noted before
        }
    };
    let changes = changes.as_array().unwrap();
    let written = changes.iter().find(|change| change["path"] == "a").unwrap();
    assert_eq!((status.as_u16(), &written["edited_since"]), (200, &json!(false)));
}

#[tokio::test]
async fn a_client_goes_back_with_the_files() {
    let desk = Desk::new().await;
    let script = "- tool_calls: [{name: terminal, arguments: {command: echo one > a}}]\n- text: first\n\
         - tool_calls: [{name: terminal, arguments: {command: echo two > a}}]\n- text: second\n";
    let talk = desk.begin(script).await;
    desk.run(&talk).await;
    desk.run(&talk).await;
    let events = desk.events(&talk).await;
    let first = events
        .iter()
        .find(|event| event["source"] == "agent" && event["kind"] == "MessageEvent");
    let first = first.unwrap()["id"].clone();
    let rewind = talk.path("/rewind");
    let body = json!({"event_id": first});
    let rewound = loop {
        let (status, rewound) = desk.ask(Method::POST, &rewind, Some(body.clone())).await;
        if status != 409 {
            break rewound; // what the agent left is being noted before
        }
    };
    assert_eq!(rewound["files"]["failed"], json!([]), "{rewound}");
    assert_eq!(std::fs::read_to_string(desk.work().join("a")).unwrap(), "one\n");
    assert_eq!(desk.get(&talk.path("")).await["leaf_event_id"], first);
    let wrong = json!({"event_id": "x", "what": "nothing"});
    assert_eq!(desk.refusal(Method::POST, &rewind, wrong).await.0, 422);
}
