//! Agents that are programs of their own, over the Agent Client Protocol: a real program over real pipes.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::desk::{Desk, Talk};

fn agent(arguments: &[&str]) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/acp_agent.py");
    json!({"kind": "ACPAgent", "acp_command": ["python3", script], "acp_args": arguments})
}

fn request(desk: &Desk, agent: &Value) -> Value {
    json!({"agent": agent, "workspace": {"working_dir": desk.work()}})
}

async fn begin(desk: &Desk, arguments: &[&str]) -> Talk {
    desk.begin_with(request(desk, &agent(arguments))).await
}

/// Says something, and gives the state when the run has ended.
async fn say(desk: &Desk, talk: &Talk, text: &str) -> Value {
    desk.say(talk, text, true).await;
    desk.ended(talk).await
}

async fn answer(desk: &Desk, talk: &Talk) -> String {
    let answer = desk.get(&talk.path("/agent_final_response")).await;
    answer["response"].as_str().unwrap().to_owned()
}

fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["kind"] == kind).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_of_an_external_agent_is_told_like_the_reference_tells_it() {
    let desk = Desk::new().await;
    let talk = begin(&desk, &[]).await;
    let info = say(&desk, &talk, "work please").await;
    assert_eq!(info["execution_status"], "finished");
    assert_eq!(info["agent"]["kind"], "ACPAgent");
    assert_eq!(info["current_model_id"], "small");
    assert_eq!(info["available_models"].as_array().unwrap().len(), 2);
    assert_eq!(info["supports_runtime_model_switch"], true);
    assert_eq!(info["agent_state"]["acp_agent_name"], "test-agent");
    assert_eq!(info["agent_state"]["acp_session_id"], "s1");
    let used = &info["stats"]["usage_to_metrics"]["acp-managed"];
    assert_eq!(used["accumulated_token_usage"]["prompt_tokens"], 10);
    assert_eq!(used["accumulated_cost"], 0.25);

    let events = desk.events(&talk).await;
    let calls = of_kind(&events, "ACPToolCallEvent");
    let told: Vec<_> = calls
        .iter()
        .map(|call| (&call["status"], &call["title"]))
        .collect();
    assert_eq!(
        told,
        [
            (&json!("pending"), &json!("Run ls")),
            (&json!("completed"), &json!("Run ls"))
        ]
    );
    assert_eq!(calls[1]["raw_output"], json!({"stdout": "a.txt"}));
    let finish = of_kind(&events, "ActionEvent");
    assert_eq!(finish.len(), 1, "{finish:?}");
    assert_eq!(
        finish[0]["action"],
        json!({"message": "Hello there.", "kind": "FinishAction"})
    );
    assert_eq!(finish[0]["reasoning_content"], "hm");
    assert_eq!(
        of_kind(&events, "ObservationEvent")[0]["action_id"],
        finish[0]["id"]
    );
    assert_eq!(answer(&desk, &talk).await, "Hello there.");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_program_serves_all_turns_and_what_it_may_not_have_is_refused() {
    let desk = Desk::new().await;
    let mut wanted = request(&desk, &agent(&[]));
    wanted["secrets"] = json!({"AGENT_KEY": "very-secret-value"});
    let talk = desk.begin_with(wanted).await;
    say(&desk, &talk, "file").await;
    assert_eq!(answer(&desk, &talk).await, "Refused with -32601.");
    say(&desk, &talk, "secret").await;
    let said = answer(&desk, &talk).await;
    assert!(
        said.starts_with("It is ") && !said.contains("very-secret") && !said.contains("nowhere"),
        "{said}"
    );
    say(&desk, &talk, "remember").await;
    let told: Value = serde_json::from_str(&answer(&desk, &talk).await).unwrap();
    assert_eq!(told["told"], json!(["file", "secret", "remember"]));
    assert_eq!(told["blocks"], json!(["remember"]), "nothing is told twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_confirmation_policy_decides_what_the_agent_may_do() {
    let desk = Desk::new().await;
    let talk = begin(&desk, &[]).await;
    say(&desk, &talk, "ask").await;
    assert_eq!(answer(&desk, &talk).await, "They said y.", "nobody need be asked");
    assert_eq!(of_kind(&desk.events(&talk).await, "ActionEvent").len(), 1);

    let policy = json!({"policy": {"kind": "AlwaysConfirm"}});
    desk.post(&talk.path("/confirmation_policy"), policy).await;
    let waits = say(&desk, &talk, "ask").await;
    assert_eq!(waits["execution_status"], "waiting_for_confirmation");
    let events = desk.events(&talk).await;
    let asked = of_kind(&events, "ActionEvent");
    let action = &asked.last().unwrap()["action"];
    assert_eq!(
        (&action["kind"], &action["command"]),
        (&json!("TerminalAction"), &json!("rm -rf build"))
    );
    desk.post(
        &talk.path("/events/respond_to_confirmation"),
        json!({"accept": true}),
    )
    .await;
    assert_eq!(desk.ended(&talk).await["execution_status"], "finished");
    assert_eq!(answer(&desk, &talk).await, "They said y.");

    say(&desk, &talk, "ask").await;
    let no = json!({"accept": false, "reason": "keep the build"});
    desk.post(&talk.path("/events/respond_to_confirmation"), no).await;
    assert_eq!(desk.ended(&talk).await["execution_status"], "idle");
    desk.post(&talk.path("/run"), json!({})).await;
    desk.ended(&talk).await;
    let events = desk.events(&talk).await;
    assert_eq!(of_kind(&events, "UserRejectObservation").len(), 1);
    let said = answer(&desk, &talk).await;
    assert!(said.contains("keep the build"), "the agent hears why: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_ends_the_turn_and_one_who_does_not_listen_is_ended() {
    let desk = Desk::new().await;
    let talk = begin(&desk, &[]).await;
    for (word, said) in [("wait", "I wait"), ("deaf", "I hear nothing")] {
        let mut socket = desk.socket(&format!("/sockets/events/{}", talk.0)).await;
        desk.say(&talk, word, true).await;
        socket.until(|frame| frame["content"] == said).await;
        desk.post(&talk.path("/interrupt"), json!({})).await;
        let info = desk.ended(&talk).await;
        assert_eq!(info["execution_status"], "paused", "{word}");
    }
    let events = desk.events(&talk).await;
    let calls = of_kind(&events, "ACPToolCallEvent");
    assert_eq!(
        calls.last().unwrap()["is_error"],
        true,
        "what it was doing has an end"
    );
    let messages = of_kind(&events, "MessageEvent");
    let kept = messages.iter().filter(|event| event["source"] == "agent").count();
    assert_eq!(kept, 2, "what it had said stays");

    let info = say(&desk, &talk, "remember").await;
    assert_eq!(info["execution_status"], "finished");
    let told: Value = serde_json::from_str(&answer(&desk, &talk).await).unwrap();
    assert_eq!(told["told"], json!(["remember"]), "it is another program");
    let before = told["blocks"][0].as_str().unwrap();
    assert!(
        before.contains("User: deaf") && before.contains("Agent: I wait"),
        "{before}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_dies_or_cannot_be_started_bricks_nothing() {
    let desk = Desk::new().await;
    let talk = begin(&desk, &["--load"]).await;
    let info = say(&desk, &talk, "die").await;
    assert_eq!(info["execution_status"], "error");
    let events = desk.events(&talk).await;
    let error = of_kind(&events, "ConversationErrorEvent")[0]["detail"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        error.contains("out of luck") && error.contains("exit status: 3") && error.contains("run again"),
        "{error}"
    );
    desk.post(&talk.path("/run"), json!({})).await;
    assert_eq!(desk.ended(&talk).await["execution_status"], "finished");
    let told: Value = serde_json::from_str(&answer(&desk, &talk).await).unwrap();
    assert_eq!(told["told"][0], "die", "its session was taken up");
    assert!(told["blocks"][0].as_str().unwrap().contains("cut off"), "{told}");

    let missing = json!({"kind": "ACPAgent", "acp_command": ["no-such-agent-anywhere"]});
    let talk = desk.begin_with(request(&desk, &missing)).await;
    assert_eq!(say(&desk, &talk, "work").await["execution_status"], "error");
    let events = desk.events(&talk).await;
    let error = of_kind(&events, "ConversationErrorEvent")[0].clone();
    assert_eq!(error["code"], "ACPSpawnError");
    assert!(
        error["detail"]
            .as_str()
            .unwrap()
            .contains("no-such-agent-anywhere"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restart_the_session_is_taken_up_or_told_what_was_said() {
    let mut desk = Desk::new().await;
    let (keeps, forgets) = (begin(&desk, &["--load"]).await, begin(&desk, &[]).await);
    for talk in [&keeps, &forgets] {
        say(&desk, talk, "work now").await;
    }
    desk.stop().await;
    desk.start(|_| {}).await;
    say(&desk, &keeps, "remember").await;
    let told: Value = serde_json::from_str(&answer(&desk, &keeps).await).unwrap();
    assert_eq!(told["told"], json!(["work now", "remember"]));
    assert_eq!(told["blocks"], json!(["remember"]));
    say(&desk, &forgets, "remember").await;
    let told: Value = serde_json::from_str(&answer(&desk, &forgets).await).unwrap();
    let before = told["blocks"][0].as_str().unwrap();
    assert!(
        before.contains("User: work now") && before.contains("Agent: Hello there."),
        "{before}"
    );
    assert_eq!(told["blocks"][1], "remember");
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_come_during_a_turn_are_turns_of_their_own() {
    let desk = Desk::new().await;
    let talk = begin(&desk, &[]).await;
    desk.say(&talk, "work one", false).await;
    desk.say(&talk, "work two", false).await;
    desk.say(&talk, "remember", true).await;
    desk.ended(&talk).await;
    let told: Value = serde_json::from_str(&answer(&desk, &talk).await).unwrap();
    assert_eq!(told["told"], json!(["work one", "work two", "remember"]));
    assert_eq!(of_kind(&desk.events(&talk).await, "ActionEvent").len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_told_and_switched() {
    let desk = Desk::new().await;
    std::fs::create_dir_all(desk.work()).unwrap();
    let settings = |command: &Value| json!({"agent_settings": {"agent_kind": "acp", "acp_server": "custom", "acp_command": command}});
    let known = desk
        .post("/api/acp/models", settings(&agent(&[])["acp_command"]))
        .await;
    assert_eq!(known["error"], Value::Null);
    assert_eq!(
        (&known["agent_name"], &known["current_model_id"]),
        (&json!("test-agent"), &json!("small"))
    );
    assert_eq!(
        known["available_models"][1],
        json!({"model_id": "large", "name": "Large", "description": null})
    );
    let broken = desk.post("/api/acp/models", settings(&json!(["false"]))).await;
    assert_eq!(broken["error"]["code"], "ACPSpawnError");

    let talk = begin(&desk, &[]).await;
    let large = json!({"model": "large"});
    desk.post(&talk.path("/switch_acp_model"), large.clone()).await;
    say(&desk, &talk, "remember").await;
    assert!(answer(&desk, &talk).await.contains(r#""model": "large""#));
    desk.post(&talk.path("/switch_acp_model"), json!({"model": "small"}))
        .await;
    let info = say(&desk, &talk, "remember").await;
    assert!(answer(&desk, &talk).await.contains(r#""model": "small""#));
    assert_eq!(
        (&info["agent"]["acp_model"], &info["current_model_id"]),
        (&json!("small"), &json!("small"))
    );
    let events = desk.events(&talk).await;
    let told = events.iter().filter(|event| event["key"] == "agent");
    let told: Vec<_> = told
        .map(|event| [&event["value"]["acp_model"], &event["value"]["llm"]["model"]])
        .collect();
    assert_eq!(told, [["large"; 2], ["small"; 2]]);
    let llm = json!({"llm": {"model": "demo"}});
    let refused = desk.refusal(Method::POST, &talk.path("/switch_llm"), llm).await;
    assert!(refused.1.as_str().unwrap().contains("switch_acp_model"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_agent_is_given_up_after_its_limit() {
    let desk = Desk::new().await;
    let mut mute = agent(&[]);
    mute["acp_prompt_timeout"] = json!(0.5);
    let talk = desk.begin_with(request(&desk, &mute)).await;
    let ended = tokio::time::timeout(Duration::from_secs(30), say(&desk, &talk, "deaf"))
        .await
        .unwrap();
    assert_eq!(ended["execution_status"], "error");
    assert_eq!(say(&desk, &talk, "work").await["execution_status"], "finished");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plan_of_an_external_agent_is_a_list_of_tasks() {
    let desk = Desk::new().await;
    let talk = begin(&desk, &[]).await;
    say(&desk, &talk, "plan it").await;
    let events = desk.events(&talk).await;
    let lists: Vec<_> = of_kind(&events, "ObservationEvent")
        .into_iter()
        .filter(|event| event["tool_name"] == "task_tracker")
        .map(|event| {
            let tasks = event["observation"]["task_list"].as_array().unwrap();
            let tasks = tasks
                .iter()
                .map(|task| (task["title"].clone(), task["status"].clone()));
            tasks.collect::<Vec<_>>()
        })
        .collect();
    let list = |look: &str, mend: &str| vec![(json!("Look"), json!(look)), (json!("Mend"), json!(mend))];
    let expected = [list("in_progress", "todo"), list("done", "in_progress")];
    assert_eq!(lists, expected, "the same plan again is no news");
    assert_eq!(answer(&desk, &talk).await, "Planned.");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_models_of_an_agent_are_remembered_until_somebody_wants_to_know_anew() {
    let desk = Desk::new().await;
    let starts = desk.root.path().join("starts");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/acp_agent.py");
    let start = format!("echo >> {}; exec python3 {script}", starts.display());
    let settings = json!({"agent_kind": "acp", "acp_command": ["sh", "-c", start]});
    let asked = async |refresh: bool, key: &str| {
        let body = json!({"agent_settings": settings, "refresh": refresh, "secrets": {"AGENT_KEY": key}});
        let told = desk.post("/api/acp/models", body).await;
        assert_eq!(told["current_model_id"], "small", "{told}");
        std::fs::read_to_string(&starts).unwrap().lines().count()
    };
    assert_eq!(asked(false, "a").await, 1);
    assert_eq!(asked(false, "a").await, 1, "it is known");
    assert_eq!(asked(false, "b").await, 2, "another key may have other models");
    assert_eq!(asked(true, "a").await, 3);
    assert_eq!(asked(false, "a").await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_external_agent_is_asked_on_the_side_and_its_session_does_not_know() {
    let desk = Desk::new().await;
    let talk = begin(&desk, &[]).await;
    let question = json!({"question": "how far are you?"});
    let (status, why) = desk
        .refusal(Method::POST, &talk.path("/ask_agent"), question.clone())
        .await;
    assert_eq!(
        (status, why),
        (400, json!("The agent has not begun yet: send it a message first"))
    );
    say(&desk, &talk, "work please").await;
    let before = desk.events(&talk).await.len();
    let answered = desk.post(&talk.path("/ask_agent"), question).await;
    let told: Value = serde_json::from_str(answered["response"].as_str().unwrap()).unwrap();
    let blocks = told["blocks"].as_array().unwrap();
    assert!(
        blocks[0].as_str().unwrap().contains("Hello there."),
        "it knows what was said: {told}"
    );
    assert!(
        blocks[1].as_str().unwrap().ends_with("how far are you?"),
        "{told}"
    );
    let news: Vec<_> = desk
        .events(&talk)
        .await
        .split_off(before)
        .iter()
        .map(|event| event["key"].clone())
        .collect();
    assert_eq!(news, ["stats"], "only what it has used is noted");
    let info = desk.get(&talk.path("")).await;
    let used = &info["stats"]["usage_to_metrics"]["acp-managed"];
    assert_eq!(used["accumulated_token_usage"]["prompt_tokens"], 20);
    say(&desk, &talk, "echo").await;
    let answer: Value = serde_json::from_str(&answer(&desk, &talk).await).unwrap();
    assert_eq!(answer["told"], json!(["work please", "echo"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_an_external_agent_reads_from_a_file_is_written_for_it() {
    let desk = Desk::new().await;
    let mut wanted = request(&desk, &agent(&[]));
    wanted["secrets"] = json!({"CODEX_AUTH_JSON": "{\"token\": \"very-secret\"}"});
    let talk = desk.begin_with(wanted).await;
    let known = desk.get(&talk.path("")).await["agent"]["acp_file_secrets"].clone();
    assert_eq!(known[0]["secret_name"], "CODEX_AUTH_JSON");
    say(&desk, &talk, "login").await;
    let found: Value = serde_json::from_str(&answer(&desk, &talk).await).unwrap();
    assert_eq!(
        (&found["letters"], &found["mode"]),
        (&json!(24), &json!("0o600")),
        "{found}"
    );
    assert_eq!(found["variable"], false, "what is a file is no variable");
    let home = found["home"].as_str().unwrap();
    assert!(
        !home.starts_with(desk.work().to_str().unwrap()),
        "it lies in no workspace: {home}"
    );
}
