//! Pictures of the current tab as it changes, for people who watch.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use deft_tools::LiveView;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::connection::{Event, Outbox};
use super::tabs::Tabs;

/// The event that brings a picture.
pub(super) const PICTURE: &str = "Page.screencastFrame";
/// How long the browser waits after a picture before it makes the next, and we after a refusal.
const PAUSE: Duration = Duration::from_millis(200);
/// A larger picture, in base64, is not shown.
const MAX_PICTURE_CHARS: usize = 2 * 1024 * 1024;

/// A picture as the browser sends it. It sends no more than two that were not acknowledged.
#[derive(Debug)]
pub(super) struct Frame {
    session: Option<String>,
    number: Value,
    data: String,
}

impl Frame {
    pub(super) fn of(event: Event) -> Self {
        let Value::Object(mut params) = event.params else {
            return Self {
                session: event.session,
                number: Value::Null,
                data: String::new(),
            };
        };
        let data = match params.remove("data") {
            Some(Value::String(data)) if data.len() <= MAX_PICTURE_CHARS => data,
            _ => String::new(),
        };
        Self {
            session: event.session,
            number: params.remove("sessionId").unwrap_or_default(),
            data,
        }
    }
}

/// Films while somebody watches, until the browser ends.
pub(super) async fn film(
    view: LiveView,
    outbox: Outbox,
    mut tabs: watch::Receiver<Tabs>,
    mut frames: watch::Receiver<Option<Frame>>,
) {
    let _curtain = Curtain(view.clone());
    loop {
        view.watched().await;
        let mut filmed = None;
        let is_over = tokio::select! {
            () = follow(&outbox, &mut tabs, &mut filmed) => true,
            () = show(&view, &outbox, &mut frames) => true,
            () = view.unwatched() => false,
        };
        if is_over {
            return;
        }
        stop(&outbox, filmed.as_deref());
    }
}

/// Falls when there is nothing to see any more, however that came.
struct Curtain(LiveView);

impl Drop for Curtain {
    fn drop(&mut self) {
        self.0.show(None);
    }
}

/// Films the tab that calls are about, whichever that is.
async fn follow(outbox: &Outbox, tabs: &mut watch::Receiver<Tabs>, filmed: &mut Option<String>) {
    loop {
        let current = tabs.borrow_and_update().current().map(|tab| tab.session.clone());
        if current != *filmed {
            stop(outbox, filmed.as_deref());
            filmed.clone_from(&current);
            if let Some(session) = &current {
                let how = json!({"format": "jpeg", "quality": 60, "maxWidth": 1280, "maxHeight": 1280});
                let started = outbox.call(Some(session), "Page.startScreencast", how).await;
                if started.is_err() {
                    *filmed = None;
                }
            }
        }
        tokio::select! {
            changed = tabs.changed() => if changed.is_err() { return },
            // A tab that is only just there refuses to be filmed.
            () = tokio::time::sleep(PAUSE), if current != *filmed => {}
        }
    }
}

/// Shows what comes, and has the browser wait a little each time.
async fn show(view: &LiveView, outbox: &Outbox, frames: &mut watch::Receiver<Option<Frame>>) {
    while frames.changed().await.is_ok() {
        let seen = frames.borrow_and_update().as_ref().map(|frame| {
            let picture = STANDARD.decode(&frame.data).unwrap_or_default();
            (picture, frame.session.clone(), frame.number.clone())
        });
        let Some((picture, session, number)) = seen else {
            continue;
        };
        if !picture.is_empty() {
            view.show(Some(Bytes::from(picture)));
        }
        tokio::time::sleep(PAUSE).await;
        let seen = json!({ "sessionId": number });
        outbox.post(session.as_deref(), "Page.screencastFrameAck", &seen);
    }
}

fn stop(outbox: &Outbox, session: Option<&str>) {
    if session.is_some() {
        outbox.post(session, "Page.stopScreencast", &json!({}));
    }
}
