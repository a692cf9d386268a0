//! Commands that clients run themselves.

use reqwest::Method;
use serde_json::{Value, json};

use crate::desk::{Desk, FINISH};

async fn execute(desk: &Desk, body: Value) -> Value {
    desk.post("/api/bash/execute_bash_command", body).await
}

#[tokio::test]
async fn a_command_is_run_and_its_output_told_whole() {
    let desk = Desk::new().await;
    let output = execute(
        &desk,
        json!({"command": "echo sync; echo oh >&2; exit 4", "cwd": "/tmp"}),
    )
    .await;
    assert_eq!(
        (&output["exit_code"], &output["stdout"]),
        (&json!(4), &json!("sync\n"))
    );
    assert_eq!(
        (&output["stderr"], &output["kind"]),
        (&json!("oh\n"), &json!("BashOutput"))
    );
    assert_eq!(output["id"].as_str().unwrap().len(), 32, "ids have no dashes");
    let slow = execute(&desk, json!({"command": "sleep 50", "timeout": 1, "cwd": "/tmp"})).await;
    assert_eq!((&slow["exit_code"], &slow["stdout"]), (&json!(-1), &Value::Null));
    let nowhere = execute(&desk, json!({"command": "pwd", "cwd": "/tmp/no/such/dir"})).await;
    assert_eq!(nowhere["exit_code"], -1);
    assert!(
        nowhere["stderr"]
            .as_str()
            .unwrap()
            .starts_with("Error executing command: ")
    );
    let (status, detail) = desk
        .refusal(Method::POST, "/api/bash/execute_bash_command", json!({}))
        .await;
    assert_eq!((status, &detail[0]["loc"]), (422, &json!(["body", "command"])));
    let large = execute(
        &desk,
        json!({"command": "head -c 3000000 /dev/zero | tr '\\0' x", "cwd": "/tmp"}),
    )
    .await;
    assert_eq!(large["stdout"].as_str().unwrap().len(), 3_000_000);
}

#[tokio::test]
async fn a_command_that_names_no_directory_runs_where_the_server_was_started() {
    let here = tempfile::tempdir().unwrap();
    let desk = Desk::with(|config| config.current_dir = here.path().to_owned()).await;
    let output = execute(&desk, json!({"command": "pwd"})).await;
    assert_eq!(output["stdout"], format!("{}\n", here.path().display()));
}

#[tokio::test]
async fn what_a_slow_command_writes_is_told_whole_when_it_ends() {
    let desk = Desk::new().await;
    let command = json!({"command": "echo one; sleep 1; echo two", "cwd": "/tmp"});
    let output = execute(&desk, command).await;
    let id = output["command_id"].as_str().unwrap();
    let search = format!("/api/bash/bash_events/search?command_id__eq={id}");
    let found = desk.get(&search).await["items"].clone();
    assert_eq!(found, json!([output]));
    assert_eq!(output["stdout"], "one\ntwo\n");
}

#[tokio::test]
async fn commands_are_found_by_when_they_were_whatever_zone_that_is_said_in() {
    let desk = Desk::new().await;
    execute(&desk, json!({"command": "true", "cwd": "/tmp"})).await;
    let search = "/api/bash/bash_events/search?timestamp__gte=";
    let items = async |since: &str| desk.get(&format!("{search}{since}")).await["items"].clone();
    let minute_ago = jiff::Timestamp::now() - jiff::SignedDuration::from_mins(1);
    let far_east = jiff::tz::TimeZone::fixed(jiff::tz::offset(14));
    let said = minute_ago.to_zoned(far_east).strftime("%FT%T%%2B14:00");
    assert_eq!(items(&said.to_string()).await.as_array().unwrap().len(), 2);
    let (status, said) = desk
        .refusal(Method::GET, &format!("{search}soon"), Value::Null)
        .await;
    assert_eq!(
        (status, &said[0]["loc"]),
        (422, &json!(["query", "timestamp__gte"]))
    );
}

#[tokio::test]
async fn commands_are_found_again_stopped_and_forgotten() {
    let desk = Desk::new().await;
    let started = desk
        .post(
            "/api/bash/start_bash_command",
            json!({"command": "sleep 600", "cwd": "/tmp"}),
        )
        .await;
    assert_eq!(
        (&started["kind"], &started["timeout"]),
        (&json!("BashCommand"), &json!(300))
    );
    let id = started["id"].as_str().unwrap();
    let stop = format!("/api/bash/bash_commands/{id}/stop");
    desk.post(&stop, json!({})).await;
    let search = format!("/api/bash/bash_events/search?command_id__eq={id}&kind__eq=BashOutput&order__gt=-1");
    let looking = async {
        loop {
            let found = desk.get(&search).await;
            if let Some(output) = found["items"].get(0) {
                return output.clone();
            }
            tokio::task::yield_now().await;
        }
    };
    let output = tokio::time::timeout(std::time::Duration::from_secs(30), looking)
        .await
        .unwrap();
    assert_eq!(output["exit_code"], -15, "the signal that ended it");
    desk.post(&stop, json!({})).await;
    assert_eq!(desk.get(&format!("/api/bash/bash_events/{id}")).await, started);
    let dashed = uuid_with_dashes(id);
    assert_eq!(
        desk.ask(Method::GET, &format!("/api/bash/bash_events/{dashed}"), None)
            .await
            .0,
        404
    );
    let unknown = "/api/bash/bash_commands/60ba1f9a-cb94-47df-b8dc-4dbf26cbb4bd/stop";
    assert_eq!(desk.ask(Method::POST, unknown, None).await.0, 404);
    let (_, batch) = desk
        .ask(Method::GET, "/api/bash/bash_events/", Some(json!([id, "x"])))
        .await;
    assert_eq!(batch, json!([started, null]));
    let newest = desk
        .get("/api/bash/bash_events/search?limit=1&sort_order=TIMESTAMP_DESC")
        .await;
    assert_eq!(newest["items"][0]["kind"], "BashOutput");
    assert_eq!(newest["next_page_id"], json!(id));
    let (_, cleared) = desk.ask(Method::DELETE, "/api/bash/bash_events", None).await;
    assert_eq!(cleared, json!({"cleared_count": 2}));
    assert_eq!(desk.get("/api/bash/bash_events/search").await["items"], json!([]));
}

#[tokio::test]
async fn commands_are_there_after_a_restart_and_go_with_their_conversation() {
    let mut desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    let path = talk.path("/bash/execute_bash_command");
    let output = desk.post(&path, json!({"command": "echo of the talk"})).await;
    execute(&desk, json!({"command": "echo one", "cwd": "/tmp"})).await;
    execute(&desk, json!({"command": "echo two", "cwd": "/tmp"})).await;
    let (all, own) = (
        "/api/bash/bash_events/search",
        talk.path("/bash/bash_events/search"),
    );
    let before = (desk.get(all).await, desk.get(&own).await);
    assert_eq!(before.0["items"].as_array().unwrap().len(), 4);
    desk.stop().await;
    desk.start(|_| {}).await;
    assert_eq!((desk.get(all).await, desk.get(&own).await), before);
    let id = output["id"].as_str().unwrap();
    let found = desk.get(&talk.path(&format!("/bash/bash_events/{id}"))).await;
    assert_eq!(found["stdout"], "of the talk\n");

    assert_eq!(desk.ask(Method::DELETE, &talk.path(""), None).await.0, 200);
    let (_, cleared) = desk.ask(Method::DELETE, "/api/bash/bash_events", None).await;
    assert_eq!(cleared, json!({"cleared_count": 4}));
    assert_eq!(desk.documents("bash/").await, 0, "nothing is left");
}

fn uuid_with_dashes(hex: &str) -> String {
    format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

#[tokio::test]
async fn a_conversation_has_commands_of_its_own_in_its_workspace() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    let path = talk.path("/bash/execute_bash_command");
    let output = desk.post(&path, json!({"command": "pwd"})).await;
    assert_eq!(output["stdout"], json!(format!("{}\n", desk.work().display())));
    std::fs::create_dir(desk.work().join("below")).unwrap();
    let below = desk.post(&path, json!({"command": "pwd", "cwd": "below"})).await;
    assert_eq!(
        below["stdout"],
        json!(format!("{}/below\n", desk.work().display()))
    );
    let (status, _) = desk
        .refusal(
            Method::POST,
            &path,
            json!({"command": "pwd", "cwd": "below/../.."}),
        )
        .await;
    assert_eq!(status, 422, "relative paths lead nowhere else either");
    let (status, detail) = desk
        .refusal(Method::POST, &path, json!({"command": "pwd", "cwd": "/"}))
        .await;
    assert_eq!(
        (status, detail),
        (422, json!("cwd must be inside the conversation workspace"))
    );
    let own = desk.get(&talk.path("/bash/bash_events/search")).await;
    assert_eq!(own["items"].as_array().unwrap().len(), 4);
    assert_eq!(desk.get("/api/bash/bash_events/search").await["items"], json!([]));
}

#[tokio::test]
async fn a_socket_tells_of_commands_and_takes_them() {
    let mut desk = Desk::new().await;
    execute(&desk, json!({"command": "echo before", "cwd": "/tmp"})).await;
    let mut socket = desk.socket("/sockets/bash-events?resend_mode=all").await;
    assert_eq!(socket.next().await["command"], "echo before");
    assert_eq!(socket.next().await["stdout"], "before\n");
    socket.send(&json!({"command": "echo live", "cwd": "/tmp"})).await;
    assert_eq!(socket.next().await["kind"], "BashCommand");
    assert_eq!(socket.next().await["stdout"], "live\n");
    socket.send_text("{").await;
    assert_eq!(socket.next().await["code"], "JSONDecodeError");
    socket.send(&json!({"nothing": 1})).await;
    assert_eq!(socket.next().await["code"], "ValidationError");
    desk.stop().await;
    assert_eq!(socket.closed().await.0, 1001);
}
