//! Webhooks against a receiver that answers as it is told.

use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, Uri};
use base64::Engine as _;
use deft_server::Config;
use reqwest::Method;
use ring::hmac;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::desk::{Desk, FINISH, KEY, Talk};

/// Far longer than anything takes.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Receiver {
    pub(crate) address: String,
    answer: Arc<AtomicU16>,
    got: Arc<Mutex<Vec<Got>>>,
    count: watch::Receiver<usize>,
    _task: AbortOnDropHandle<()>,
}

#[derive(Clone)]
pub(crate) struct Got {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    text: String,
    answered: u16,
}

impl Got {
    pub(crate) fn body(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    fn has_arrived(&self) -> bool {
        self.answered == 200
    }
}

impl Receiver {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/hook", listener.local_addr().unwrap());
        let answer = Arc::new(AtomicU16::new(200));
        let got: Arc<Mutex<Vec<Got>>> = Arc::default();
        let (counter, count) = watch::channel(0);
        let (answers, all) = (Arc::clone(&answer), Arc::clone(&got));
        let take = move |uri: Uri, headers: HeaderMap, body: Bytes| async move {
            let answered = answers.load(Ordering::SeqCst);
            let mut all = all.lock().unwrap();
            all.push(Got {
                path: uri.path().to_owned(),
                headers,
                text: String::from_utf8(body.to_vec()).unwrap(),
                answered,
            });
            counter.send_replace(all.len());
            StatusCode::from_u16(answered).unwrap()
        };
        let task = tokio::spawn(async move {
            axum::serve(listener, Router::new().fallback(take)).await.unwrap();
        });
        Self {
            address,
            answer,
            got,
            count,
            _task: AbortOnDropHandle::new(task),
        }
    }

    pub(crate) fn answer(&self, status: u16) {
        self.answer.store(status, Ordering::SeqCst);
    }

    pub(crate) fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    /// Waits until what was received is enough.
    pub(crate) async fn until(&self, enough: impl Fn(&[Got]) -> bool) -> Vec<Got> {
        let mut count = self.count.clone();
        let waited = tokio::time::timeout(LIMIT, count.wait_for(|_| enough(&self.got()))).await;
        let paths: Vec<_> = self.got().into_iter().map(|got| got.path).collect();
        waited
            .unwrap_or_else(|_| panic!("only these came: {paths:?}"))
            .unwrap();
        self.got()
    }

    /// Lets a server tell us.
    pub(crate) fn hear(&self, config: &mut Config, more: &Value) {
        let mut spec = json!({"base_url": self.address, "flush_delay": 0.05, "retry_delay": 0.01});
        spec.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        config.webhooks = vec![serde_json::from_value(spec).unwrap()];
    }
}

/// The ids of the events of the log that arrived, in order.
pub(crate) fn events(got: &[Got]) -> Vec<Value> {
    let batches = got
        .iter()
        .filter(|got| got.has_arrived() && got.path.contains("/events/"));
    let events = batches.flat_map(|got| got.body().as_array().unwrap().clone());
    events
        .filter(|event| event["key"] != "full_state")
        .map(|event| event["id"].clone())
        .collect()
}

fn statuses(got: &[Got]) -> Vec<Value> {
    let notices = got
        .iter()
        .filter(|got| got.has_arrived() && got.path == "/hook/conversations");
    notices
        .map(|got| got.body()["execution_status"].clone())
        .collect()
}

pub(crate) async fn stored(desk: &Desk, talk: &Talk) -> Vec<Value> {
    let events = desk.events(talk).await;
    events.into_iter().map(|event| event["id"].clone()).collect()
}

fn hex(talk: &Talk) -> String {
    talk.0.replace('-', "")
}

#[tokio::test]
async fn a_receiver_hears_of_everything_in_order_and_can_check_who_tells() {
    let receiver = Receiver::new().await;
    let spec = json!({"headers": {"X-Custom": "abc"}, "secret": "s3cret", "event_buffer_size": 5});
    let desk = Desk::with(|config| receiver.hear(config, &spec)).await;
    let talk = desk.begin(FINISH).await;
    desk.run(&talk).await;
    let expected = stored(&desk, &talk).await;
    desk.ask(Method::PATCH, &talk.path(""), Some(json!({"title": "new"})))
        .await;
    let got = receiver
        .until(|got| events(got) == expected && statuses(got).len() == 2)
        .await;
    assert_eq!(statuses(&got), ["idle", "finished"]);

    let batches: Vec<_> = got
        .iter()
        .filter(|got| got.path == format!("/hook/events/{}", hex(&talk)))
        .collect();
    let first = batches[0].body();
    assert_eq!(first[0]["key"], "full_state");
    assert_eq!(first[0]["parent_id"], Value::Null, "nulls are there");
    assert!(first.as_array().unwrap().len() <= 6);
    let last = batches.iter().rev().find_map(|got| {
        let body = got.body();
        let mut newest = body.as_array().unwrap().iter().rev();
        newest.find(|event| event["key"] == "full_state").cloned()
    });
    assert_eq!(last.unwrap()["value"]["execution_status"], "finished");

    for got in &got {
        assert_eq!(got.headers["x-custom"], "abc");
        assert_eq!(got.headers["x-session-api-key"], KEY);
        assert_eq!(got.headers["content-type"], "application/json");
        let part = |name: &str| got.headers[name].to_str().unwrap();
        let signed = format!(
            "{}.{}.{}",
            part("webhook-id"),
            part("webhook-timestamp"),
            got.text
        );
        let tag = part("webhook-signature").strip_prefix("v1,").unwrap();
        let tag = base64::engine::general_purpose::STANDARD.decode(tag).unwrap();
        hmac::verify(
            &hmac::Key::new(hmac::HMAC_SHA256, b"s3cret"),
            signed.as_bytes(),
            &tag,
        )
        .unwrap();
    }
    let state = desk.get("/api/webhooks").await;
    assert_eq!(state["webhooks"][0]["failed_attempts"], 0);
    assert!(
        !state.to_string().contains("abc"),
        "headers are not shown: {state}"
    );
}

#[tokio::test]
async fn a_receiver_that_fails_hears_the_same_again_and_loses_nothing() {
    let receiver = Receiver::new().await;
    receiver.answer(503);
    let desk = Desk::with(|config| receiver.hear(config, &json!({}))).await;
    let talk = desk.begin(FINISH).await;
    assert_eq!(
        desk.run(&talk).await["execution_status"],
        "finished",
        "nobody waits for a receiver"
    );
    let got = receiver.until(|got| got.len() >= 3).await;
    assert!(
        got.iter()
            .all(|again| again.headers["webhook-id"] == got[0].headers["webhook-id"])
    );
    let state = desk.get("/api/webhooks").await["webhooks"][0].clone();
    let waiting = &state["waiting"][0];
    assert_eq!(waiting["conversation_id"], talk.0.as_str());
    assert!(waiting["pending_events"].as_u64() > Some(0), "{state}");
    assert_eq!(
        waiting["last_error"],
        "it was answered with 503 Service Unavailable"
    );
    receiver.answer(200);
    let expected = stored(&desk, &talk).await;
    receiver.until(|got| events(got) == expected).await;
}

#[tokio::test]
async fn what_was_not_told_before_a_restart_is_told_after_it() {
    let receiver = Receiver::new().await;
    receiver.answer(500);
    let patient = json!({"retry_delay": 3600});
    let mut desk = Desk::with(|config| receiver.hear(config, &patient)).await;
    let talk = desk.begin(FINISH).await;
    desk.run(&talk).await;
    receiver.until(|got| !got.is_empty()).await;
    desk.stop().await;
    receiver.answer(200);
    desk.start(|config| receiver.hear(config, &patient)).await;
    let expected = stored(&desk, &talk).await;
    let got = receiver
        .until(|got| events(got) == expected && !statuses(got).is_empty())
        .await;
    assert_eq!(statuses(&got), ["idle"]);
    // Told once is told once.
    let arrived = got.len();
    desk.stop().await;
    desk.start(|config| receiver.hear(config, &patient)).await;
    desk.ask(Method::PATCH, &talk.path(""), Some(json!({"title": "new"})))
        .await;
    receiver.until(|got| statuses(got).len() == 2).await;
    assert_eq!(receiver.got().len(), arrived + 1);
}

#[tokio::test]
async fn a_request_is_given_up_after_a_limit_and_can_be_sent_once_more() {
    let receiver = Receiver::new().await;
    receiver.answer(500);
    let desk = Desk::with(|config| receiver.hear(config, &json!({"dead_letter_after": 2}))).await;
    let talk = desk.begin(FINISH).await;
    desk.run(&talk).await;
    let expected = stored(&desk, &talk).await;
    let is_over = async {
        loop {
            let state = desk.get("/api/webhooks").await["webhooks"][0].clone();
            if state["waiting_conversations"] == 0 && state["dead_letter_count"].as_u64() > Some(1) {
                return state;
            }
            tokio::task::yield_now().await;
        }
    };
    let state = tokio::time::timeout(LIMIT, is_over)
        .await
        .expect("it is never given up");
    assert_eq!(state["dead_letters"][0]["attempts"], 2);
    receiver.answer(200);
    let path = format!("/api/webhooks/{}/redeliver", state["id"].as_str().unwrap());
    let answer = desk.post(&path, Value::Null).await;
    assert_eq!(answer["redelivered"], state["dead_letter_count"]);
    receiver
        .until(|got| events(got) == expected && statuses(got) == ["idle"])
        .await;
    let (status, _) = desk.ask(Method::POST, "/api/webhooks/none/redeliver", None).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn what_a_deleted_conversation_still_had_to_tell_is_told() {
    let receiver = Receiver::new().await;
    receiver.answer(500);
    let desk = Desk::with(|config| receiver.hear(config, &json!({}))).await;
    let talk = desk.begin(FINISH).await;
    desk.run(&talk).await;
    let expected = stored(&desk, &talk).await;
    let (status, _) = desk.ask(Method::DELETE, &talk.path(""), None).await;
    assert_eq!(status, 200);
    receiver.answer(200);
    let is_all = |got: &[Got]| statuses(got).last() == Some(&json!("deleting"));
    let got = receiver.until(is_all).await;
    assert_eq!(events(&got)[..expected.len()], expected[..]);
}

/// Waits until nothing waits to be sent, and gives the state of the only webhook.
async fn given_up(desk: &Desk, at_least: u64) -> Value {
    let is_over = async {
        loop {
            let state = desk.get("/api/webhooks").await["webhooks"][0].clone();
            if state["waiting_conversations"] == 0 && state["dead_letter_count"].as_u64() >= Some(at_least) {
                return state;
            }
            tokio::task::yield_now().await;
        }
    };
    let over = tokio::time::timeout(LIMIT, is_over).await;
    over.expect("it is never given up")
}

#[tokio::test]
async fn however_much_was_given_up_none_of_it_is_lost() {
    const MANY: usize = 520;
    let receiver = Receiver::new().await;
    receiver.answer(500);
    let desk = Desk::with(|config| receiver.hear(config, &json!({"dead_letter_after": 1}))).await;
    let talk = desk.begin(FINISH).await;
    for number in 1..MANY {
        let title = json!({"title": format!("title {number}")});
        desk.ask(Method::PATCH, &talk.path(""), Some(title)).await;
    }
    let state = given_up(&desk, MANY as u64).await;
    let shown = state["dead_letters"].as_array().unwrap();
    assert_eq!(shown.len(), 100, "the newest are shown");
    receiver.answer(200);
    let path = format!("/api/webhooks/{}/redeliver", state["id"].as_str().unwrap());
    let answer = desk.post(&path, Value::Null).await;
    assert_eq!(answer["redelivered"], state["dead_letter_count"]);
    let got = receiver.until(|got| statuses(got).len() == MANY).await;
    let titles: Vec<_> = got
        .iter()
        .filter(|got| got.has_arrived() && got.path == "/hook/conversations")
        .map(|got| got.body()["title"].clone())
        .collect();
    let expected: Vec<_> = (1..MANY).map(|number| json!(format!("title {number}"))).collect();
    assert!(titles.ends_with(&expected), "in order: {titles:?}");
    assert_eq!(given_up(&desk, 0).await["dead_letter_count"], 0);
}

#[tokio::test]
async fn a_request_has_as_many_events_as_may_stand_in_it() {
    const MOST: usize = 4096;
    let receiver = Receiver::new().await;
    let spec = json!({"max_batch_bytes": MOST, "event_buffer_size": 100});
    let desk = Desk::with(|config| receiver.hear(config, &spec)).await;
    let talk = desk
        .begin(&format!(
            "- tool_calls: [{{name: think, arguments: {{thought: long}}}}]\n  repeat: 20\n{FINISH}"
        ))
        .await;
    desk.run(&talk).await;
    let expected = stored(&desk, &talk).await;
    let got = receiver.until(|got| events(got) == expected).await;
    let batches = got.iter().filter(|got| got.path.contains("/events/"));
    let mut sizes = Vec::new();
    for batch in batches {
        let told = events(std::slice::from_ref(batch)).len();
        let has_state = batch.text.contains("\"full_state\"");
        assert!(
            told == 1 || has_state || batch.text.len() <= MOST + told + 1,
            "{told} events, {} bytes",
            batch.text.len()
        );
        sizes.push(told);
    }
    assert!(
        sizes.iter().any(|told| *told > 1),
        "those that fit come together: {sizes:?}"
    );
}

#[tokio::test]
async fn a_conversation_that_is_stopped_is_told_at_once() {
    for stop in ["pause", "interrupt"] {
        let receiver = Receiver::new().await;
        let desk = Desk::with(|config| receiver.hear(config, &json!({"flush_delay": 3600}))).await;
        let talk = desk.begin("- stall: true\n").await;
        desk.say(&talk, "go", true).await;
        desk.post(&talk.path(&format!("/{stop}")), Value::Null).await;
        let got = receiver.until(|got| statuses(got).len() == 2).await;
        assert_eq!(statuses(&got), ["idle", "paused"], "{stop}");
    }
}
