//! A workspace that takes long to be made ready: who watches sees how far that is, whoever asked for it.

use serde_json::{Value, json};

use crate::desk::{Desk, FINISH, KEY, PREPARING, Socket, Talk};

/// A conversation whose workspace is not ready, and somebody who watches it.
async fn watched(desk: &Desk) -> (Talk, Socket) {
    let works = "- tool_calls: [{name: terminal, arguments: {command: 'true'}}]";
    let talk = desk.begin(&format!("{works}\n{FINISH}")).await;
    let path = format!("/sockets/session/{}?tool_output=true", talk.0);
    let mut socket = desk.socket(&path).await;
    socket.until(|frame| frame["type"] == "transient").await; // from here on everything is told
    desk.set_ready(false);
    (talk, socket)
}

async fn see_line(socket: &mut Socket) {
    let frames = socket.until(is_about_preparation).await;
    let line = json!({"type": "preparing", "line": PREPARING});
    assert_eq!(*frames.last().unwrap(), line);
}

async fn see_end(socket: &mut Socket) {
    let frames = socket.until(is_about_preparation).await;
    assert_eq!(*frames.last().unwrap(), json!({"type": "prepared"}));
}

fn is_about_preparation(frame: &Value) -> bool {
    frame["type"] == "preparing" || frame["type"] == "prepared"
}

/// Somebody looks at a file of the workspace.
fn look(desk: &Desk, talk: &Talk) -> reqwest::RequestBuilder {
    let asked = desk.request(reqwest::Method::GET, &talk.path("/workspace/none"));
    asked.header("X-Session-API-Key", KEY)
}

#[tokio::test]
async fn a_run_shows_how_far_its_workspace_is() {
    let desk = Desk::new().await;
    let (talk, mut socket) = watched(&desk).await;
    desk.say(&talk, "do it", true).await;
    see_line(&mut socket).await;
    desk.set_ready(true);
    see_end(&mut socket).await;
    assert_eq!(desk.ended(&talk).await["execution_status"], "finished");
}

#[tokio::test]
async fn who_looks_at_files_or_opens_a_terminal_shows_it_too_also_where_no_engine_runs() {
    let desk = Desk::new().await;
    let (talk, mut socket) = watched(&desk).await;
    let looking = tokio::spawn(look(&desk, &talk).send());
    see_line(&mut socket).await;
    desk.set_ready(true);
    see_end(&mut socket).await;
    assert_eq!(looking.await.unwrap().unwrap().status(), 404);

    desk.set_ready(false);
    let console = format!(
        "/sockets/console/{}?rows=20&columns=90&session_api_key={KEY}",
        talk.0
    );
    let opening = desk.connect(&console, &[]);
    let seeing = async {
        see_line(&mut socket).await;
        desk.set_ready(true);
        see_end(&mut socket).await;
    };
    let (console, ()) = tokio::join!(opening, seeing);
    console.unwrap();
}

#[tokio::test]
async fn it_is_shown_no_longer_when_who_asked_for_it_has_gone() {
    let desk = Desk::new().await;
    let (talk, mut socket) = watched(&desk).await;
    let looking = tokio::spawn(look(&desk, &talk).send());
    see_line(&mut socket).await;
    looking.abort();
    see_end(&mut socket).await;
}
