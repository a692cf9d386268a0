//! Sockets and streams: who is let in, what is replayed, and what is told in which order.

use deft_types::ConversationId;
use futures::StreamExt;
use reqwest::Method;
use serde_json::{Value, json};

use crate::desk::{Desk, FINISH, KEY};

fn is_state(frame: &Value) -> bool {
    frame["key"] == "full_state"
}

#[tokio::test]
async fn the_history_is_sent_again_as_far_as_it_is_asked_for() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    let path = format!("/sockets/events/{}", talk.0);
    let mut watcher = desk.socket(&path).await;
    watcher.next().await;
    desk.run(&talk).await;
    watcher.until(is_state).await; // the end of the run is told: nothing more comes by itself
    let stored = desk.events(&talk).await;
    for query in ["?resend_mode=all", "?resend_all=true", "?resend_all=True"] {
        let mut socket = desk.socket(&format!("{path}{query}")).await;
        assert!(is_state(&socket.next().await), "the state comes first");
        for event in &stored {
            assert_eq!(socket.next().await, *event);
        }
    }
    let from = stored[2]["timestamp"].as_str().unwrap();
    let mut socket = desk
        .socket(&format!("{path}?resend_mode=since&after_timestamp={from}"))
        .await;
    socket.next().await;
    let expected: Vec<_> = stored
        .iter()
        .filter(|event| event["timestamp"].as_str() >= Some(from))
        .collect();
    for event in expected {
        assert_eq!(socket.next().await, *event);
    }
    for query in ["", "?resend_mode=since"] {
        let mut socket = desk.socket(&format!("{path}{query}")).await;
        assert!(is_state(&socket.next().await));
        socket.send_text("not json").await;
        assert_eq!(
            socket.next().await["kind"],
            "ServerErrorEvent",
            "nothing was sent again"
        );
    }
}

#[tokio::test]
async fn a_message_over_the_socket_runs_and_nonsense_is_answered() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    let mut socket = desk.socket(&format!("/sockets/events/{}", talk.0)).await;
    socket.next().await;
    socket
        .send(&json!({"type": "auth", "session_api_key": "x"}))
        .await;
    socket.send_text("not json").await;
    assert_eq!(socket.next().await["code"], "JSONDecodeError");
    socket.send(&json!({"foo": 1})).await;
    let answer = socket.next().await;
    assert_eq!(
        (&answer["code"], &answer["kind"]),
        (&json!("ValidationError"), &json!("ServerErrorEvent"))
    );
    socket
        .send(&json!({"role": "user", "content": [{"type": "text", "text": "hello over ws"}]}))
        .await;
    let frames = socket.until(is_state).await;
    assert_eq!(frames.last().unwrap()["value"]["execution_status"], "finished");
    assert!(frames.iter().any(|frame| frame["kind"] == "MessageEvent"));
}

/// Without an answer the client would have to take it for a connection that broke.
#[tokio::test]
async fn a_client_that_closes_its_socket_is_answered() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    for path in [
        format!("/sockets/events/{}", talk.0),
        format!("/sockets/session/{}", talk.0),
        "/sockets/bash-events".to_owned(),
    ] {
        let mut socket = desk.socket(&path).await;
        assert_eq!(socket.close().await, (1000, "done".to_owned()), "{path}");
    }
}

#[tokio::test]
async fn pause_and_interrupt_are_followed_by_the_state() {
    let desk = Desk::new().await;
    let script = format!(
        "- tool_calls: [{{name: terminal, arguments: {{command: 'until test -e go; do sleep 0.05; done'}}}}]\n- stall: true\n{FINISH}"
    );
    let talk = desk.begin(&script).await;
    let mut socket = desk.socket(&format!("/sockets/events/{}", talk.0)).await;
    socket.next().await;
    desk.say(&talk, "go", true).await;
    socket.until(|frame| frame["kind"] == "ActionEvent").await;
    desk.post(&talk.path("/pause"), Value::Null).await;
    let frames = socket.until(is_state).await;
    assert!(frames.iter().any(|frame| frame["kind"] == "PauseEvent"));
    assert_eq!(frames.last().unwrap()["value"]["execution_status"], "paused");
    // The step under way still ends, and the state is told behind it.
    std::fs::write(desk.work().join("go"), "").unwrap();
    let frames = socket.until(is_state).await;
    assert!(
        frames.iter().any(|frame| frame["kind"] == "ObservationEvent"),
        "{frames:?}"
    );
    desk.post(&talk.path("/run"), Value::Null).await;
    socket.until(|frame| frame["value"] == "running").await;
    desk.post(&talk.path("/interrupt"), Value::Null).await;
    let frames = socket.until(is_state).await;
    assert!(
        frames.iter().any(|frame| frame["kind"] == "InterruptEvent"),
        "{frames:?}"
    );
    assert_eq!(frames.last().unwrap()["value"]["execution_status"], "paused");
}

#[tokio::test]
async fn a_step_that_was_paused_and_is_the_last_is_followed_by_the_state() {
    let desk = Desk::new().await;
    let talk = desk.begin("- {text: done, delay_ms: 1500}\n").await;
    let mut socket = desk.socket(&format!("/sockets/events/{}", talk.0)).await;
    desk.say(&talk, "go", true).await;
    socket.until(|frame| frame["value"] == "running").await;
    desk.post(&talk.path("/pause"), Value::Null).await;
    socket.until(|frame| frame["kind"] == "PauseEvent").await;
    socket.until(|frame| frame["value"] == "finished").await;
    let frames = socket.until(is_state).await;
    assert_eq!(frames.last().unwrap()["value"]["execution_status"], "finished");
}

#[tokio::test]
async fn a_rejection_or_a_move_is_followed_by_no_state_that_could_be_taken_for_the_end_of_the_next_run() {
    let desk = Desk::new().await;
    let script = format!("- tool_calls: [{{name: terminal, arguments: {{command: touch one}}}}]\n{FINISH}");
    let mut request = desk.start_request(&desk.script("careful.yaml", &script));
    request["confirmation_policy"] = json!({"kind": "AlwaysConfirm"});
    let talk = desk.begin_with(request).await;
    let mut socket = desk.socket(&format!("/sockets/events/{}", talk.0)).await;
    let mut own = desk.socket(&format!("/sockets/session/{}", talk.0)).await;
    socket.next().await;
    desk.say(&talk, "go", true).await;
    let frames = socket.until(is_state).await;
    let said = frames.iter().find(|frame| frame["kind"] == "MessageEvent");
    let said = &said.unwrap()["id"];
    desk.post(
        &talk.path("/events/respond_to_confirmation"),
        json!({"accept": false}),
    )
    .await;
    desk.post(&talk.path("/navigate"), json!({"event_id": said}))
        .await;
    desk.say(&talk, "more", false).await;
    let frames = socket.until(|frame| frame["kind"] == "MessageEvent").await;
    let told: Vec<_> = frames
        .iter()
        .map(|frame| frame["key"].as_str().or(frame["kind"].as_str()).unwrap())
        .collect();
    assert_eq!(
        told,
        ["execution_status", "UserRejectObservation", "MessageEvent"]
    );
    let moved = |frame: &Value| &frame["event"]["value"]["leaf_event_id"] == said;
    own.until(moved).await; // our own app hears of the move
}

#[tokio::test]
async fn pieces_of_replies_are_sent_to_clients_that_stream() {
    let desk = Desk::new().await;
    let script = "- text: one two three\n  reasoning: hmm hmm\n";
    let mut request = desk.start_request(&desk.script("s.yaml", script));
    request["agent"]["llm"]["stream"] = true.into();
    let streams = desk.begin_with(request).await;
    let mut socket = desk.socket(&format!("/sockets/events/{}", streams.0)).await;
    socket.next().await;
    desk.say(&streams, "go", true).await;
    let frames = socket.until(is_state).await;
    let joined = |field: &str| -> String {
        let deltas = frames
            .iter()
            .filter(|frame| frame["kind"] == "StreamingDeltaEvent");
        deltas.filter_map(|frame| frame[field].as_str()).collect()
    };
    assert_eq!(joined("content"), "one two three");
    assert_eq!(joined("reasoning_content"), "hmm hmm");
    let stored = desk.events(&streams).await;
    assert!(stored.iter().all(|event| event["kind"] != "StreamingDeltaEvent"));

    let plain = desk.begin(script).await;
    let mut socket = desk.socket(&format!("/sockets/events/{}", plain.0)).await;
    socket.next().await;
    desk.say(&plain, "go", true).await;
    let frames = socket.until(is_state).await;
    assert!(frames.iter().all(|frame| frame["kind"] != "StreamingDeltaEvent"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_is_told_behind_what_it_answers_and_before_the_event_that_it_becomes() {
    let desk = Desk::new().await;
    let think =
        |n| format!("- {{text: one two, tool_calls: [{{name: think, arguments: {{thought: t{n}}}}}]}}\n");
    let script = (0..20).map(think).collect::<String>() + "- text: three four\n";
    let talk = desk.begin(&script).await;
    let mut socket = desk.socket(&format!("/sockets/session/{}", talk.0)).await;
    socket.until(|frame| frame["type"] == "transient").await;
    desk.say(&talk, "go", true).await;
    let frames = socket.until(|frame| frame["type"] == "transient").await;
    let mut ended = Vec::new();
    let mut told = Value::Null;
    for frame in &frames {
        match frame["type"].as_str().unwrap() {
            "durable" => {
                ended.push(frame["event"]["id"].clone());
                told = frame["seq"].clone();
            }
            "item_started" => assert_eq!(frame["anchor_seq"], told, "{frame}"),
            "delta" => assert!(!ended.contains(&frame["item_id"]), "too late: {frame}"),
            _ => {}
        }
    }
    let at = |wanted: &dyn Fn(&Value) -> bool| -> Vec<usize> {
        let found = frames.iter().enumerate().filter(|(_, frame)| wanted(frame));
        found.map(|(place, _)| place).collect()
    };
    let begun = at(&|frame| frame["type"] == "item_started");
    let answered = at(&|frame| frame["event"]["kind"] == "ObservationEvent");
    assert_eq!((begun.len(), answered.len()), (21, 20));
    for (answer, next) in answered.iter().zip(&begun[1..]) {
        assert!(answer < next, "a reply before what it answers");
    }
}

#[tokio::test]
async fn the_session_socket_goes_on_from_any_position() {
    let desk = Desk::new().await;
    let talk = desk
        .begin(&format!("- text: one two\n- text: three\n{FINISH}"))
        .await;
    let path = format!("/sockets/session/{}", talk.0);
    let mut live = desk.socket(&path).await;
    assert_eq!(live.next().await, json!({"type": "sync"}));
    assert_eq!(live.next().await["type"], "transient");
    desk.say(&talk, "go", true).await;
    let frames = live.until(|frame| frame["type"] == "transient").await;
    let recorded: Value = serde_json::from_str(include_str!("../data/session_frames.json")).unwrap();
    for frame in &frames {
        let model = recorded
            .as_array()
            .unwrap()
            .iter()
            .find(|other| other["type"] == frame["type"]);
        let model = model.unwrap_or_else(|| panic!("no such frame was recorded: {frame}"));
        for field in frame.as_object().unwrap().keys() {
            assert!(model.get(field).is_some(), "{field} was not recorded in {model}");
        }
    }
    let item = frames
        .iter()
        .find(|frame| frame["type"] == "item_started")
        .unwrap();
    let text: String = frames
        .iter()
        .filter_map(|frame| frame["content"].as_str())
        .collect();
    assert_eq!(text, "one two");
    let closing = frames
        .iter()
        .find(|frame| frame["event"]["id"] == item["item_id"])
        .unwrap();
    assert_eq!(closing["event"]["kind"], "MessageEvent");

    let durable: Vec<_> = frames
        .iter()
        .filter(|frame| frame["type"] == "durable")
        .cloned()
        .collect();
    let last = durable.last().unwrap()["seq"].clone();
    for (after, known) in [(-1, 0), (durable[2]["seq"].as_i64().unwrap(), 3)] {
        let mut again = desk.socket(&format!("{path}?after_seq={after}")).await;
        let sync = again.next().await;
        assert_eq!(
            sync,
            json!({"type": "sync", "from_seq": after, "through_seq": last})
        );
        for frame in &durable[known..] {
            assert_eq!(again.next().await, *frame);
        }
        assert_eq!(again.next().await["type"], "transient");
    }
    let mut socket = desk.socket(&path).await;
    socket.until(|frame| frame["type"] == "transient").await;
    socket.send_text("not json").await;
    assert_eq!(socket.next().await["type"], "error");
}

/// The contract knows no such frame: only those who ask for it hear it, and guests, whose socket is our own.
#[tokio::test]
async fn a_connection_says_that_it_lives_to_those_who_ask() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    let mut told = desk
        .socket(&format!("/sockets/session/{}?alive=true", talk.0))
        .await;
    let mut session = desk.socket(&format!("/sockets/session/{}", talk.0)).await;
    let mut events = desk.socket(&format!("/sockets/events/{}", talk.0)).await;
    told.until(|frame| *frame == json!({"type": "alive"})).await;
    desk.say(&talk, "go", true).await;
    let is_over = |event: &Value| event["value"]["execution_status"] == "finished";
    let heard = session.until(|frame| is_over(&frame["event"])).await;
    assert!(heard.iter().all(|frame| frame["type"] != "alive"), "{heard:?}");
    let heard = events.until(is_over).await;
    assert!(heard.iter().all(|event| event["type"] != "alive"), "{heard:?}");
}

/// A state that was taken before events that have been told meanwhile would make the watcher believe what was.
#[tokio::test]
async fn a_state_never_contradicts_the_events_told_before_it() {
    let desk = Desk::new().await;
    for _ in 0..10 {
        let talk = desk.begin("- text: One.\n- stall: true\n").await;
        let mut socket = desk.socket(&format!("/sockets/session/{}", talk.0)).await;
        desk.say(&talk, "go", true).await;
        socket
            .until(|frame| {
                is_state(&frame["event"]) && frame["event"]["value"]["execution_status"] == "finished"
            })
            .await;
        desk.say(&talk, "go on", true).await;
        socket.until(|frame| frame["event"]["value"] == "running").await;
        desk.post(&talk.path("/interrupt"), Value::Null).await;
        let frames = socket.until(|frame| is_state(&frame["event"])).await;
        assert_eq!(
            frames.last().unwrap()["event"]["value"]["execution_status"],
            "paused",
            "{frames:?}"
        );
    }
}

#[tokio::test]
async fn the_same_stream_comes_as_server_sent_events() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    desk.run(&talk).await;
    let stored = desk.events(&talk).await;
    let stream = async |last: &str| {
        let request = desk.request(Method::GET, &talk.path("/stream"));
        let request = request
            .header("X-Session-API-Key", KEY)
            .header("Last-Event-ID", last);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        let (mut text, mut pieces) = (String::new(), answer.bytes_stream());
        while !text.contains("full_state") || !text.ends_with("\n\n") {
            text.push_str(std::str::from_utf8(&pieces.next().await.unwrap().unwrap()).unwrap());
        }
        text
    };
    let all = stream("-1").await;
    let ids: Vec<_> = all.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    assert_eq!(ids.len(), stored.len());
    let some = stream(ids[1]).await;
    let later: Vec<_> = some
        .lines()
        .filter_map(|line| line.strip_prefix("id: "))
        .collect();
    assert_eq!(later, &ids[2..]);
}

#[tokio::test]
async fn who_watches_a_conversation_that_cannot_be_read_is_told_to_come_back_and_not_that_there_is_none() {
    let mut desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    desk.stop().await;
    let sealed_by_another = serde_json::Map::from_iter([("request".to_owned(), json!("AAAA"))]);
    let id = ConversationId(talk.0.parse().unwrap());
    desk.store().change_settings(id, sealed_by_another).await.unwrap();
    desk.start(|_| {}).await;
    let mut socket = desk.socket(&format!("/sockets/session/{}", talk.0)).await;
    assert_eq!(socket.closed().await.0, 1013);
    let missing = format!("/sockets/session/{}", uuid::Uuid::new_v4());
    assert_eq!(desk.socket(&missing).await.closed().await.0, 4004);
}
