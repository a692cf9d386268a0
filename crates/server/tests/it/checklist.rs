//! What clients of the contract depend on most: one test for each line of the list that says what must be right to
//! the letter. The forms of single answers are compared with recorded ones in `contract.rs`.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Error as SocketError;

use crate::desk::{Desk, FINISH, KEY, Talk};

const SAY_HELLO: &str = "- tool_calls: [{name: terminal, arguments: {command: echo hello}}]\n";

fn is_state(frame: &Value) -> bool {
    frame["key"] == "full_state"
}

fn text<'a>(event: &'a Value, field: &str) -> &'a str {
    event[field].as_str().unwrap_or_default()
}

/// Where a value is null.
fn nulls(place: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Null => found.push(place.to_owned()),
        Value::Array(items) => items.iter().for_each(|item| nulls(place, item, found)),
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, value)| nulls(&format!("{place}.{name}"), value, found)),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_stats(event: &Value) -> bool {
    event["key"] == "stats"
}

/// `2026-11-15T01:14:49.212782`: neither a zone nor fewer digits.
fn is_naive_with_microseconds(timestamp: &str) -> bool {
    let form = "0000-00-00T00:00:00.000000";
    let plain: String = timestamp
        .chars()
        .map(|letter| if letter.is_ascii_digit() { '0' } else { letter })
        .collect();
    plain == form
}

/// Runs a conversation to its end, and gives back every frame that a watcher is sent.
async fn watched(desk: &Desk, script: &str) -> (Talk, Vec<Value>) {
    let talk = desk.begin(script).await;
    let mut socket = desk.socket(&format!("/sockets/events/{}", talk.0)).await;
    let mut frames = vec![socket.next().await];
    desk.say(&talk, "do it", false).await;
    desk.post(&talk.path("/run"), Value::Null).await;
    frames.extend(socket.until(is_state).await);
    (talk, frames)
}

#[tokio::test]
async fn line_1_events_leave_nulls_out_and_have_rising_naive_timestamps() {
    let desk = Desk::new().await;
    let (talk, mut frames) = watched(&desk, &format!("{SAY_HELLO}{FINISH}")).await;
    let analyzer = |value: Value| json!({ "security_analyzer": value });
    let path = talk.path("/security_analyzer");
    desk.post(&path, analyzer(json!({"kind": "LLMSecurityAnalyzer"})))
        .await;
    desk.post(&path, analyzer(Value::Null)).await;
    let stored = desk.events(&talk).await;
    let cleared = stored.last().unwrap();
    assert_eq!(text(cleared, "key"), "security_analyzer");
    assert!(
        cleared.get("value").is_none(),
        "a null is told by nothing: {cleared}"
    );
    frames.extend(stored.clone());
    for event in &frames {
        let mut found = Vec::new();
        nulls(text(event, "kind"), event, &mut found);
        found.retain(|place| !(is_stats(event) && place.ends_with(".max_budget_per_task"))); // recorded so
        assert_eq!(found, Vec::<String>::new(), "{event}");
        let timestamp = text(event, "timestamp");
        assert!(is_naive_with_microseconds(timestamp), "{timestamp}");
    }
    let order: Vec<_> = stored.iter().map(|event| text(event, "timestamp")).collect();
    assert!(order.is_sorted(), "{order:?}");
}

#[tokio::test]
async fn line_2_the_state_is_the_first_frame_and_the_last_of_each_run_and_is_not_stored() {
    let desk = Desk::new().await;
    let talk = desk.begin("- text: at once\n- text: again\n").await;
    let path = format!("/sockets/events/{}", talk.0);
    let mut socket = desk.socket(&path).await;
    let first = socket.next().await;
    assert!(is_state(&first) && first.get("parent_id").is_none(), "{first}");
    for _ in 0..2 {
        desk.say(&talk, "quick", false).await;
        desk.post(&talk.path("/run"), Value::Null).await;
        let answered = Instant::now();
        let frames = socket.until(is_state).await;
        // The server waits 200 ms from before its answer is sent.
        assert!(
            answered.elapsed() >= Duration::from_millis(100),
            "it came too soon"
        );
        let [.., before, last] = &frames[..] else {
            panic!("{frames:?}")
        };
        assert_eq!(last["value"]["execution_status"], "finished");
        assert_eq!(text(before, "key"), "execution_status");
        assert_eq!(text(before, "value"), "finished");
        socket.send_text("not json").await;
        assert_eq!(
            socket.next().await["kind"],
            "ServerErrorEvent",
            "nothing was behind it"
        );
    }
    // Nothing was said since: the run does nothing, and its end is told all the same.
    desk.post(&talk.path("/run"), Value::Null).await;
    assert!(is_state(&socket.next().await));
    assert!(!desk.events(&talk).await.iter().any(is_state), "it is stored");
}

#[tokio::test]
async fn line_3_what_is_told_is_stored_already_and_each_event_names_the_one_it_follows() {
    let desk = Desk::new().await;
    let talk = desk.begin(&format!("{SAY_HELLO}{FINISH}")).await;
    let mut socket = desk.socket(&format!("/sockets/events/{}", talk.0)).await;
    socket.next().await;
    desk.say(&talk, "do it", true).await;
    let mut told = Vec::new();
    loop {
        let frame = socket.next().await;
        if is_state(&frame) {
            break;
        }
        // Asked for at once: it must be there.
        let id = text(&frame, "id");
        assert_eq!(desk.get(&talk.path(&format!("/events/{id}"))).await["id"], id);
        told.push(frame);
    }
    assert_eq!(
        desk.events(&talk).await,
        told,
        "states that changed are found as well"
    );
    let mut leaf: Option<&str> = None;
    for event in &told {
        assert_eq!(event.get("parent_id").and_then(Value::as_str), leaf, "{event}");
        // A change of the state stands beside the branch, not on it.
        if text(event, "kind") != "ConversationStateUpdateEvent" {
            leaf = event["id"].as_str();
        }
    }
}

#[tokio::test]
async fn line_4_statuses_and_bodies_of_answers() {
    let desk = Desk::new().await;
    let mut request = desk.start_request(&desk.script("s.yaml", "- stall: true\n"));
    request["conversation_id"] = "a27526f818784f03ae74e9eb24a2c0de".into();
    request["initial_message"] = json!({"content": [{"type": "text", "text": "Do it"}], "run": false});
    let create = async || {
        desk.ask(Method::POST, "/api/conversations", Some(request.clone()))
            .await
    };
    let (status, info) = create().await;
    assert_eq!(status, 201);
    let talk = Talk(text(&info, "id").to_owned());
    let refused = async |method, path: &str, body| desk.refusal(method, path, body).await;
    let run = talk.path("/run");
    let running = "Conversation already running. Wait for completion or pause first.";
    assert_eq!(
        refused(Method::POST, &run, Value::Null).await,
        (409, json!(running))
    );
    let count = desk.get(&talk.path("/events/count")).await;
    let (status, again) = create().await;
    assert_eq!((status.as_u16(), &again["id"]), (200, &info["id"]));
    assert_eq!(
        desk.get(&talk.path("/events/count")).await,
        count,
        "nothing is said twice"
    );

    let nowhere = Talk("86f28914-2e9c-4bd3-8426-6344917d2bdf".to_owned());
    let unknown = json!(format!("Conversation not found: {}", nowhere.0));
    for (path, detail) in [("", json!("Not Found")), ("/events/search", unknown)] {
        assert_eq!(
            refused(Method::GET, &nowhere.path(path), json!({})).await,
            (404, detail)
        );
    }
    let (status, detail) = refused(Method::POST, "/api/conversations", json!({})).await;
    assert_eq!(
        (status, &detail[0]["loc"]),
        (422, &json!(["body", "workspace"])),
        "it is malformed"
    );
    let mut elsewhere = desk.start_request("demo");
    elsewhere["conversation_runtime"] = "docker".into();
    let (status, detail) = refused(Method::POST, "/api/conversations", elsewhere).await;
    assert_eq!(status, 422);
    assert_eq!(
        detail, "This server only runs local conversations",
        "it cannot be done"
    );

    let (status, body) = desk.ask(Method::GET, "/api/vscode/url", None).await;
    assert_eq!(
        (status.as_u16(), text(&body, "detail")),
        (503, "Internal Server Error")
    );
    assert!(text(&body, "exception").starts_with("503: "), "{body}");
    let from_nobody = json!({"role": "assistant", "content": []});
    let (status, body) = desk
        .ask(Method::POST, &talk.path("/events"), Some(from_nobody))
        .await;
    assert_eq!(
        (status.as_u16(), text(&body, "detail")),
        (500, "Internal Server Error")
    );
    assert_eq!(text(&body, "error_id").len(), 32, "{body}");
    desk.post(&talk.path("/interrupt"), Value::Null).await;
}

#[tokio::test]
async fn line_5_sockets_refuse_with_the_codes_of_the_contract() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    let refused = async |path: &str, headers: &[(&'static str, &str)]| match desk.connect(path, headers).await
    {
        Err(SocketError::Http(answer)) => {
            assert!(answer.body().as_deref().unwrap_or_default().is_empty(), "{path}");
            answer.status().as_u16()
        }
        other => panic!("{path}: {:?}", other.err()),
    };
    let auth = |key: &str| json!({"type": "auth", "session_api_key": key});
    let events = format!("/sockets/events/{}", talk.0);
    for path in [
        &events,
        &format!("/sockets/session/{}", talk.0),
        "/sockets/bash-events",
    ] {
        for bad in ["bad", ""] {
            assert_eq!(refused(&format!("{path}?session_api_key={bad}"), &[]).await, 403);
            assert_eq!(refused(path, &[("x-session-api-key", bad)]).await, 403);
        }
        for first in [
            auth("bad"),
            json!("nope"),
            json!({"type": "x"}),
            json!([1]),
            json!({"role": "user"}),
        ] {
            let mut socket = desk.connect(path, &[]).await.unwrap();
            socket.send(&first).await;
            let closed = (4001, "Authentication failed".to_owned());
            assert_eq!(socket.closed().await, closed, "{path}: {first}");
        }
        for (query, header) in [
            ("?session_api_key=k-two", None),
            ("", Some(("x-session-api-key", KEY))),
            ("", None),
        ] {
            let headers: Vec<_> = header.into_iter().collect();
            let mut socket = desk.connect(&format!("{path}{query}"), &headers).await.unwrap();
            // Needed by the last one, and once more than needed by all: no answer, and no harm.
            socket.send(&auth(KEY)).await;
            socket.send(&auth(KEY)).await;
            socket.send_text("not json").await;
            let frames = socket
                .until(|frame| frame.to_string().contains("JSONDecodeError"))
                .await;
            let complaints = frames
                .iter()
                .filter(|frame| frame.to_string().contains("Error"))
                .count();
            assert_eq!(complaints, 1, "{path}: {frames:?}");
        }
    }
    assert_eq!(
        refused(&format!("{events}?resend_mode=bogus&session_api_key={KEY}"), &[]).await,
        403
    );
    let bogus = format!("/sockets/bash-events?resend_mode=bogus&session_api_key={KEY}");
    assert_eq!(refused(&bogus, &[]).await, 403);
    let no_id = format!("/sockets/events/not-a-uuid?session_api_key={KEY}");
    assert_eq!(refused(&no_id, &[]).await, 403);
    for kind in ["events", "session"] {
        let path = format!("/sockets/{kind}/4c8442cf-59eb-44a4-beb5-2aba0f755c28");
        let closed = desk.socket(&path).await.closed().await;
        assert_eq!(closed, (4004, "Conversation not found".to_owned()));
    }
}

#[tokio::test]
async fn line_6_ids_have_dashes_where_the_contract_has_them_and_are_read_either_way() {
    let desk = Desk::new().await;
    let (first, second) = (desk.begin(FINISH).await, desk.begin(FINISH).await);
    let hex = first.0.replace('-', "");
    let info = desk.get(&format!("/api/conversations/{hex}")).await;
    assert_eq!(text(&info, "id"), first.0, "dashed out, either way in");
    desk.run(&first).await;
    for event in desk.events(&first).await {
        assert_eq!(text(&event, "id").len(), 36, "{event}");
    }
    let page = desk.get("/api/conversations/search?limit=1").await;
    assert_eq!(page["items"][0]["id"], second.0.as_str());
    assert_eq!(text(&page, "next_page_id"), hex);
    let both = desk
        .get(&format!("/api/conversations?ids={hex}&ids={}", second.0))
        .await;
    assert_eq!(
        (&both[0]["id"], &both[1]["id"]),
        (&json!(first.0), &json!(second.0))
    );
    let mut socket = desk.socket(&format!("/sockets/events/{hex}")).await;
    assert!(is_state(&socket.next().await));
    // Ids of commands, and the addresses of webhooks: see `commands.rs` and `webhooks.rs`.
}

#[tokio::test]
async fn line_7_lists_of_ids_are_taken_from_the_body_of_a_get() {
    let desk = Desk::new().await;
    let (talk, frames) = watched(&desk, FINISH).await;
    let ids: Vec<_> = frames[1..3].iter().map(|frame| text(frame, "id")).collect();
    let asked = json!([ids[1], "missing", ids[0]]);
    let (status, found) = desk.ask(Method::GET, &talk.path("/events"), Some(asked)).await;
    assert_eq!(status, 200);
    assert_eq!((text(&found[0], "id"), text(&found[2], "id")), (ids[1], ids[0]));
    assert!(found[1].is_null());
    let command = json!({"command": "true", "cwd": "/tmp"});
    let output = desk.post("/api/bash/execute_bash_command", command).await;
    let asked = json!([output["id"], "00000000000000000000000000000000"]);
    let (status, found) = desk.ask(Method::GET, "/api/bash/bash_events/", Some(asked)).await;
    assert_eq!((status.as_u16(), &found[0]["id"]), (200, &output["id"]));
    assert!(found[1].is_null());
}

#[tokio::test]
async fn line_8_an_error_is_told_by_the_status_then_the_event_then_the_state() {
    let desk = Desk::new().await;
    let (_, frames) = watched(&desk, "- error: {kind: authentication}\n").await;
    let [.., status, error, state] = &frames[..] else {
        panic!("{frames:?}")
    };
    assert_eq!(
        (text(status, "key"), text(status, "value")),
        ("execution_status", "error")
    );
    assert_eq!(text(error, "kind"), "ConversationErrorEvent");
    assert_eq!(text(error, "code"), "LLMAuthenticationError");
    let classification = json!({"kind": "auth", "retryable": false, "user_action": "settings"});
    assert_eq!(error["classification"], classification);
    assert_eq!(state["value"]["execution_status"], "error");
    let ids: HashSet<_> = frames.iter().map(|frame| text(frame, "id")).collect();
    assert_eq!(ids.len(), frames.len(), "nothing is told twice");
}

#[tokio::test]
async fn line_9_secrets_are_never_echoed() {
    const SECRETS: [&str; 4] = ["sk-fake-key", "hunter-two", "hunter-three", "hunter-four"];
    let desk = Desk::new().await;
    let say = "- tool_calls: [{name: terminal, arguments: {command: 'echo \"$TWO\" $FOUR'}}]\n";
    let mut request = desk.start_request(&desk.script("s.yaml", &format!("{say}{FINISH}")));
    request["secrets"] = json!({"TWO": {"kind": "StaticSecret", "value": "hunter-two"},
        "THREE": {"kind": "LookupSecret", "url": "https://127.0.0.1:9/x", "headers": {"X-Api-Key": "hunter-three"}}});
    let info = desk.post("/api/conversations", request.clone()).await;
    let talk = Talk(text(&info, "id").to_owned());
    desk.post(
        &talk.path("/secrets"),
        json!({"secrets": {"FOUR": "hunter-four"}}),
    )
    .await;
    let mut socket = desk.socket(&format!("/sockets/session/{}", talk.0)).await;
    let mut answers = vec![info, socket.next().await, desk.run(&talk).await];
    answers.extend(
        socket
            .until(|frame| frame["event"]["value"]["execution_status"] == "finished")
            .await,
    );
    let of_contract = desk
        .socket(&format!("/sockets/events/{}", talk.0))
        .await
        .next()
        .await;
    assert_eq!(of_contract["value"]["agent"]["llm"]["api_key"], "**********");
    assert!(
        answers[2]["agent"]["llm"]["api_key"].is_null(),
        "REST shows nothing at all"
    );
    answers.push(of_contract);
    for path in [
        "/api/conversations/search",
        &talk.path("/events/search"),
        &talk.path(""),
    ] {
        answers.push(desk.get(path).await);
    }
    // What is refused is not repeated either.
    request["max_iterations"] = 0.into();
    request["tags"] = json!({"Bad Key": 1});
    request["agent"]["llm"]["timeout"] = "never".into();
    let (status, refusal) = desk.ask(Method::POST, "/api/conversations", Some(request)).await;
    assert_eq!(status, 422, "{refusal}");
    answers.push(refusal);
    let answers = Value::from(answers).to_string();
    assert!(
        answers.contains("<secret-hidden> <secret-hidden>"),
        "output is masked"
    );
    for secret in SECRETS {
        assert!(!answers.contains(secret), "{secret} was told");
    }
    // The modes of `X-Expose-Secrets` are in `settings.rs`, what the disk holds in `lifecycle.rs`.
}

#[tokio::test]
async fn line_10_the_server_has_a_version_that_clients_take_and_is_well_without_a_key() {
    let desk = Desk::new().await;
    let open = async |path: &str| {
        let answer = desk.request(Method::GET, path).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        answer.json::<Value>().await.unwrap()
    };
    for path in ["/server_info", "/"] {
        let info = open(path).await;
        let version: Vec<u32> = text(&info, "version")
            .split('.')
            .map(|part| part.parse().unwrap())
            .collect();
        assert!(version.len() == 3 && version >= vec![1, 28, 0], "{version:?}");
    }
    assert_eq!(open("/health").await, json!({"status": "ok"}));
}
