//! Conversations from their beginning to their end, and beyond the end of a server.

use std::time::{Duration, SystemTime};

use deft_store::{NewConversation, Owner};
use deft_types::{ConversationId, Status};
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::desk::{Desk, FINISH, Talk};

fn texts(events: &[Value], field: &str) -> Vec<String> {
    events
        .iter()
        .filter_map(|event| event[field].as_str().map(str::to_owned))
        .collect()
}

#[tokio::test]
async fn an_initial_message_runs_at_once_and_the_same_id_again_changes_nothing() {
    let desk = Desk::new().await;
    let mut request = desk.start_request(&desk.script("s.yaml", FINISH));
    request["conversation_id"] = "a27526f818784f03ae74e9eb24a2c0de".into();
    request["initial_message"] =
        json!({"role": "user", "content": [{"type": "text", "text": "Do it"}], "run": false});
    let (status, info) = desk
        .ask(Method::POST, "/api/conversations", Some(request.clone()))
        .await;
    assert_eq!(status, 201);
    assert_eq!(info["id"], "a27526f8-1878-4f03-ae74-e9eb24a2c0de");
    let talk = crate::desk::Talk(info["id"].as_str().unwrap().to_owned());
    assert_eq!(desk.ended(&talk).await["execution_status"], "finished");
    let count = desk.get(&talk.path("/events/count")).await;
    let (status, again) = desk.ask(Method::POST, "/api/conversations", Some(request)).await;
    assert_eq!((status.as_u16(), &again["id"]), (200, &info["id"]));
    assert_eq!(desk.get(&talk.path("/events/count")).await, count);
    let answer = desk.get(&talk.path("/agent_final_response")).await;
    assert_eq!(answer, json!({"response": "all done"}));
}

#[tokio::test]
async fn a_running_conversation_is_not_run_twice_and_takes_messages() {
    let desk = Desk::new().await;
    let talk = desk.begin("- stall: true\n").await;
    desk.say(&talk, "go", false).await;
    desk.post(&talk.path("/run"), Value::Null).await;
    let (status, body) = desk.ask(Method::POST, &talk.path("/run"), None).await;
    assert_eq!(status, 409);
    assert_eq!(
        body,
        json!({"detail": "Conversation already running. Wait for completion or pause first."})
    );
    desk.say(&talk, "one more thing", true).await;
    desk.post(&talk.path("/interrupt"), Value::Null).await;
    let info = desk.ended(&talk).await;
    assert_eq!(info["execution_status"], "paused");
    let kinds = texts(&desk.events(&talk).await, "kind");
    assert_eq!(kinds.last().map(String::as_str), Some("InterruptEvent"));
    assert_eq!(kinds.iter().filter(|kind| *kind == "MessageEvent").count(), 2);
}

#[tokio::test]
async fn a_model_that_cannot_be_opened_says_so_when_it_is_run() {
    let desk = Desk::new().await;
    let talk = desk.begin_with(desk.start_request("script:/no/such/file")).await;
    let info = desk.run(&talk).await;
    assert_eq!(info["execution_status"], "error");
    let events = desk.events(&talk).await;
    let detail = events.last().unwrap()["detail"].as_str().unwrap();
    assert!(detail.contains("/no/such/file"), "{detail}");
}

#[tokio::test]
async fn events_are_paged_filtered_and_counted() {
    let desk = Desk::new().await;
    let script = format!(
        "- tool_calls: [{{name: think, arguments: {{thought: 'no {{{{n}}}}'}}}}]\n  repeat: 150\n{FINISH}"
    );
    let talk = desk.begin(&script).await;
    desk.run(&talk).await;
    let count = desk.get(&talk.path("/events/count")).await.as_u64().unwrap();
    let (mut ids, mut page_id) = (Vec::new(), String::new());
    loop {
        let page = desk
            .get(&talk.path(&format!("/events/search?limit=100{page_id}")))
            .await;
        ids.extend(texts(page["items"].as_array().unwrap(), "id"));
        let Some(next) = page["next_page_id"].as_str() else {
            break;
        };
        page_id = format!("&page_id={next}");
    }
    assert_eq!(ids.len() as u64, count);
    let last = desk
        .get(&talk.path("/events/search?sort_order=TIMESTAMP_DESC&limit=2"))
        .await;
    let mut expected = ids[ids.len() - 2..].to_vec();
    expected.reverse();
    assert_eq!(texts(last["items"].as_array().unwrap(), "id"), expected);
    assert_eq!(last["next_page_id"], ids[ids.len() - 3].as_str());
    assert_eq!(desk.get(&talk.path("/events/count?kind=ActionEvent")).await, 151);
    let by_module = desk
        .get(&talk.path("/events/count?kind=openhands.sdk.event.llm_convertible.action.ActionEvent"))
        .await;
    assert_eq!(by_module, 151);
    let said = desk
        .get(&talk.path("/events/search?body=DO+IT&source=user"))
        .await;
    assert_eq!(said["items"].as_array().unwrap().len(), 1);
    let by_nobody = desk.get(&talk.path("/events/search?source=nobody")).await;
    assert_eq!(by_nobody, json!({"items": [], "next_page_id": null}));
    assert_eq!(desk.get(&talk.path("/events/count?source=nobody")).await, 0);
    let timestamp = said["items"][0]["timestamp"].as_str().unwrap();
    let since = desk
        .get(&talk.path(&format!("/events/count?timestamp__gte={timestamp}")))
        .await;
    let before = desk
        .get(&talk.path(&format!("/events/count?timestamp__lt={timestamp}")))
        .await;
    assert_eq!(since.as_u64().unwrap() + before.as_u64().unwrap(), count);
    let unknown = desk.get(&talk.path("/events/search?page_id=bogus&limit=1")).await;
    assert_eq!(unknown["items"][0]["id"], ids[0].as_str());
}

#[tokio::test]
async fn conversations_are_listed_counted_renamed_and_deleted() {
    let desk = Desk::new().await;
    let first = desk.begin(FINISH).await;
    let second = desk.begin(FINISH).await;
    desk.run(&first).await;
    assert_eq!(desk.get("/api/conversations/count").await, 2);
    assert_eq!(desk.get("/api/conversations/count?status=finished").await, 1);
    let page = desk.get("/api/conversations/search?limit=1").await;
    assert_eq!(page["items"][0]["id"], second.0.as_str(), "the newest first");
    assert_eq!(page["next_page_id"], first.0.replace('-', ""));
    let next = format!(
        "/api/conversations/search?limit=1&page_id={}",
        first.0.replace('-', "")
    );
    let page = desk.get(&next).await;
    assert_eq!(
        (&page["items"][0]["id"], &page["next_page_id"]),
        (&json!(first.0), &Value::Null)
    );
    let page = desk
        .get("/api/conversations/search?sort_order=UPDATED_AT_DESC&status=finished")
        .await;
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
    assert_eq!(page["items"][0]["id"], first.0.as_str());
    let both = format!(
        "/api/conversations?ids={}&ids=5f2db4c4-8cfa-49a1-a27b-86e676852866",
        first.0
    );
    let both = desk.get(&both).await;
    assert_eq!((&both[0]["id"], &both[1]), (&json!(first.0), &Value::Null));

    let change = json!({"title": "  New Title  ", "tags": {"a": "b"}});
    let (status, _) = desk.ask(Method::PATCH, &first.path(""), Some(change)).await;
    assert_eq!(status, 200);
    desk.ask(Method::PATCH, &first.path(""), Some(json!({}))).await;
    let info = desk.get(&first.path("")).await;
    assert_eq!(
        (&info["title"], &info["tags"]),
        (&json!("New Title"), &json!({"a": "b"}))
    );

    let mut socket = desk.socket(&format!("/sockets/events/{}", first.0)).await;
    socket.next().await;
    let (status, _) = desk.ask(Method::DELETE, &first.path(""), None).await;
    assert_eq!(status, 200);
    assert_eq!(socket.closed().await.0, 1000);
    for method in [Method::DELETE, Method::GET] {
        let (status, body) = desk.ask(method, &first.path(""), None).await;
        assert_eq!((status.as_u16(), body), (404, json!({"detail": "Not Found"})));
    }
    assert!(desk.work().exists(), "the workspace stays");
}

#[tokio::test]
async fn no_more_conversations_run_at_once_than_may() {
    let desk = Desk::with(|config| config.max_runs = 1).await;
    let first = desk.begin("- stall: true\n").await;
    desk.say(&first, "go", true).await;
    let second = desk.begin(FINISH).await;
    let message = json!({"role": "user", "content": [], "run": true});
    let (status, body) = desk
        .ask(Method::POST, &second.path("/events"), Some(message))
        .await;
    assert_eq!(status, 429);
    assert!(
        body["detail"].as_str().unwrap().starts_with("Message saved, but"),
        "{body}"
    );
    let (status, body) = desk.ask(Method::POST, &second.path("/run"), None).await;
    assert_eq!(status, 429);
    assert_eq!(
        body,
        json!({"detail": "Conversation run limit reached. Retry the request later."})
    );
    let mut request = desk.start_request("demo");
    request["initial_message"] = json!({"content": []});
    let (status, _) = desk.ask(Method::POST, "/api/conversations", Some(request)).await;
    assert_eq!(status, 429);
    assert_eq!(
        desk.get("/api/conversations/count").await,
        2,
        "nothing was stored"
    );
    desk.post(&first.path("/interrupt"), Value::Null).await;
    let mut socket = desk.socket(&format!("/sockets/events/{}", first.0)).await;
    socket
        .until(|frame| frame["value"]["execution_status"] == "paused")
        .await;
    let run = async {
        while desk.ask(Method::POST, &second.path("/run"), None).await.0 == 429 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), run)
        .await
        .expect("no place is given back");
    assert_eq!(desk.ended(&second).await["execution_status"], "finished");
}

#[tokio::test]
async fn what_a_client_asks_for_and_would_not_get_is_refused() {
    let desk = Desk::new().await;
    let mut request = desk.start_request("demo");
    request["conversation_runtime"] = "docker".into();
    let (status, body) = desk.ask(Method::POST, "/api/conversations", Some(request)).await;
    assert_eq!(status, 422, "{body}");
    assert!(body["detail"].is_string(), "{body}");
}

#[tokio::test]
async fn a_server_that_stops_pauses_what_runs_and_the_next_one_goes_on() {
    let mut desk = Desk::new().await;
    let script = format!(
        "- tool_calls: [{{name: terminal, arguments: {{command: 'touch begun; until test -e go; do sleep 0.05; done; echo went on'}}}}]\n{FINISH}"
    );
    let talk = desk.begin(&script).await;
    desk.say(&talk, "go", true).await;
    let mut socket = desk.socket(&format!("/sockets/events/{}", talk.0)).await;
    socket
        .until(|frame| frame["kind"] == "ConversationStateUpdateEvent")
        .await;
    while !desk.work().join("begun").exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    desk.stop().await;
    let (code, reason) = socket.closed().await;
    assert_eq!((code, reason.as_str()), (1001, "The server is stopping"));

    desk.start(|_| {}).await;
    assert_eq!(desk.get(&talk.path("")).await["execution_status"], "paused");
    std::fs::write(desk.work().join("go"), "").unwrap();
    desk.post(&talk.path("/run"), Value::Null).await;
    assert_eq!(desk.ended(&talk).await["execution_status"], "finished");
    let events = desk.events(&talk).await;
    let results: Vec<_> = events
        .iter()
        .filter(|event| event["tool_name"] == "terminal")
        .collect();
    assert_eq!(results.len(), 2, "one call, one result: {results:?}");
    assert!(results[1].to_string().contains("went on"), "{results:?}");
}

#[tokio::test]
async fn all_that_runs_is_paused_before_the_machine_is_put_to_sleep() {
    let desk = Desk::new().await;
    let wait =
        "- tool_calls: [{name: terminal, arguments: {command: 'while [ ! -e go ]; do sleep 0.05; done'}}]\n";
    let talk = desk.begin(&format!("{wait}{FINISH}")).await;
    desk.say(&talk, "go", true).await;
    std::fs::write(desk.work().join("go"), "").unwrap();
    let (status, _) = desk
        .ask(Method::POST, "/api/conversations/prepare-for-sandbox-pause", None)
        .await;
    assert_eq!(status, 204);
    let status = desk.get(&talk.path("")).await["execution_status"].clone();
    assert!(
        ["paused", "finished"].iter().any(|rests| status == *rests),
        "{status}"
    );
    let stalled = desk.begin("- {text: slow, delay_ms: 500}\n- text: never\n").await;
    desk.say(&stalled, "go", true).await;
    desk.ask(Method::POST, "/api/conversations/prepare-for-sandbox-pause", None)
        .await;
    assert_ne!(desk.get(&stalled.path("")).await["execution_status"], "running");
}

#[tokio::test]
async fn an_idle_conversation_leaves_memory_and_comes_back() {
    let desk = Desk::with(|config| config.idle_limit = Duration::from_millis(1)).await;
    let talk = desk.begin(&format!("- text: one\n- text: two\n{FINISH}")).await;
    desk.run(&talk).await;
    // Its lease is free as soon as it has left.
    let store =
        deft_store::SqliteStore::open(desk.root.path().join("deft.db"), deft_store::Options::default())
            .unwrap();
    let id = talk.0.parse().unwrap();
    let gone = async {
        loop {
            match deft_store::Store::acquire(&store, id, &deft_store::Owner::this_process()).await {
                Ok(lease) => break deft_store::Store::release(&store, lease).await.unwrap(),
                Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), gone)
        .await
        .expect("it stays");
    desk.run(&talk).await;
    assert_eq!(
        desk.get(&talk.path("/agent_final_response")).await["response"],
        "two"
    );
}

#[tokio::test]
async fn what_a_client_entrusts_to_the_server_is_not_readable_on_the_disk() {
    let desk = Desk::new().await;
    let mut request = desk.start_request(&desk.script("s.yaml", FINISH));
    request["secrets"] =
        json!({"MY_SECRET": {"kind": "StaticSecret", "value": "hunter-two"}, "PLAIN": "hunter-three"});
    let talk = desk.begin_with(request).await;
    let info = desk.run(&talk).await;
    let shown = &info["secret_registry"]["secret_sources"];
    assert_eq!(
        shown["MY_SECRET"],
        json!({"kind": "StaticSecret", "value": null, "description": null})
    );
    let mut answers = info.to_string();
    answers.push_str(&desk.get("/api/conversations/search").await.to_string());
    answers.push_str(&desk.get(&talk.path("/events/search")).await.to_string());
    let mut socket = desk.socket(&format!("/sockets/events/{}", talk.0)).await;
    answers.push_str(&socket.next().await.to_string());
    for entry in std::fs::read_dir(desk.root.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            answers.push_str(&String::from_utf8_lossy(&std::fs::read(path).unwrap()));
        }
    }
    for secret in ["sk-fake-key", "hunter-two", "hunter-three"] {
        assert!(!answers.contains(secret), "{secret} can be read");
    }
}

#[tokio::test]
async fn a_workspace_sleeps_while_nobody_uses_it_and_goes_with_its_conversation() {
    let desk = Desk::with(|config| config.idle_limit = Duration::from_millis(100)).await;
    let talk = desk.begin(FINISH).await;
    desk.run(&talk).await;
    let asleep = async {
        while desk.fates(&talk).is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), asleep)
        .await
        .expect("it stays awake");
    assert_eq!(desk.fates(&talk), ["paused"]);
    let (status, _) = desk.ask(Method::DELETE, &talk.path(""), None).await;
    assert_eq!(status, 200);
    assert_eq!(desk.fates(&talk).last(), Some(&"removed"));
}

#[tokio::test]
async fn however_many_were_cut_off_all_are_looked_after() {
    const MANY: u64 = 150; // more than are looked up at once
    let mut desk = Desk::new().await;
    desk.stop().await;
    let store = desk.store();
    for number in 0..MANY {
        let id = ConversationId(Uuid::new_v4());
        let new = NewConversation {
            id,
            created_at: SystemTime::UNIX_EPOCH + Duration::from_secs(number),
            workspace: desk.work().display().to_string(),
            settings: json!({}),
            owner: None,
        };
        store.create(new).await.unwrap();
        let lease = store.acquire(id, &Owner::this_process()).await.unwrap();
        let began = json!({"kind": "ConversationStateUpdateEvent", "id": Uuid::new_v4(), "source": "environment",
            "timestamp": "2026-01-01T00:00:00", "key": "execution_status", "value": "running"});
        store
            .append(&lease, vec![serde_json::from_value(began).unwrap()])
            .await
            .unwrap();
        store.release(lease).await.unwrap();
    }
    assert_eq!(store.count(None, Some(Status::Running)).await.unwrap(), MANY);
    desk.start(|_| {}).await;
    let all = async {
        while store.count(None, Some(Status::Running)).await.unwrap() > 0 {
            tokio::task::yield_now().await;
        }
    };
    let looked_after = tokio::time::timeout(Duration::from_secs(60), all).await;
    looked_after.expect("some are left alone");
}

#[tokio::test]
async fn a_new_conversation_is_told_as_it_was_made_with_its_first_message_and_the_clients_tools() {
    let desk = Desk::new().await;
    let model = desk.script("s.yaml", FINISH);
    let mut request = desk.start_request(&model);
    request["initial_message"] = json!({"role": "user", "content": [{"type": "text", "text": "go"}]});
    let schema = json!({"type": "object", "properties": {"question": {"type": "string"}}});
    let tool = json!({"name": "my_client_tool", "description": "asks the client", "parameters": schema});
    request["client_tools"] = json!([tool]);
    let made = desk.post("/api/conversations", request).await;
    assert_eq!(made["execution_status"], "idle", "that it runs, its events tell");
    assert!(made["last_user_message_id"].is_string());
    let tools = made["agent"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["terminal", "file_editor", "task_tracker", "my_client_tool"]
    );
    assert_eq!(tools[3]["params"]["spec"], made["client_tools"][0]);
    let modules = made["tool_module_qualnames"].as_object().unwrap();
    assert_eq!(modules["terminal"], "openhands.tools.terminal.definition");
    assert!(!modules.contains_key("my_client_tool"), "{modules:?}");
    assert_eq!(made["client_tools"].as_array().unwrap().len(), 1);
    let talk = Talk(made["id"].as_str().unwrap().to_owned());
    assert_eq!(desk.ended(&talk).await["execution_status"], "finished");
}

#[tokio::test]
async fn tools_of_the_client_are_refused_where_models_could_not_tell_them_apart() {
    let desk = Desk::new().await;
    let mut request = desk.start_request("demo");
    let tool = |name: &str| json!({"name": name, "description": "d", "parameters": {"type": "object"}});
    for (names, why) in [
        (&["a", "b", "a"][..], "Duplicate client tool name 'a'"),
        (&["terminal"], "Client tool name 'terminal' collides"),
        (&["finish"], "Client tool name 'finish' collides"),
        (&[""], "needs a name"),
    ] {
        request["client_tools"] = names.iter().map(|name| tool(name)).collect();
        let (status, said) = desk
            .refusal(Method::POST, "/api/conversations", request.clone())
            .await;
        assert_eq!(status, 422, "{said}");
        assert!(said.as_str().unwrap().contains(why), "{said}");
    }
    request["client_tools"] = json!([tool("grep")]);
    desk.begin_with(request).await; // the agent has none of that name
}

#[tokio::test]
async fn a_policy_is_told_with_what_goes_without_saying() {
    let desk = Desk::new().await;
    let mut request = desk.start_request("demo");
    request["confirmation_policy"] = json!({"kind": "ConfirmRisky"});
    let made = desk.post("/api/conversations", request).await;
    let full = json!({"kind": "ConfirmRisky", "threshold": "HIGH", "confirm_unknown": true});
    assert_eq!(made["confirmation_policy"], full);
    let path = format!("/sockets/events/{}", made["id"].as_str().unwrap());
    let state = desk.socket(&path).await.next().await;
    assert_eq!(state["value"]["confirmation_policy"], full);
}
