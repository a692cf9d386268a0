//! `deft models`, against a server that speaks as Ollama and OpenAI do.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::commands::{Home, stderr, stdout};

const KEY: &str = "sk-of-a-user-0123456789";

/// What the server says to the chat API.
#[derive(Clone, Copy)]
enum Mood {
    Willing,
    Suspicious,
}

/// Starts a server; it ends with the test's process.
fn start(mood: Mood) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            thread::spawn(move || serve(stream, mood));
        }
    });
    address
}

fn serve(mut stream: TcpStream, mood: Mood) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let mut length = 0;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).unwrap();
            if header.trim().is_empty() {
                break;
            }
            if let Some(value) = header.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let body = serde_json::from_slice(&body).unwrap_or_default();
        let (status, answer) = answer(line.trim(), &body, mood);
        let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n", answer.len());
        drop(stream.write_all(format!("{head}{answer}").as_bytes()));
    }
}

fn answer(line: &str, body: &Value, mood: Mood) -> (u16, String) {
    let event = |delta: Value, finish: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        format!("data: {}\n\n", json!({ "id": "x", "choices": [choice] }))
    };
    match (line, mood) {
        ("GET /api/tags HTTP/1.1", _) => (200, json!({ "models": [{ "name": "qwen3:8b" }] }).to_string()),
        ("POST /api/show HTTP/1.1", _) => {
            let info = json!({ "qwen3.context_length": 40_960 });
            (
                200,
                json!({ "model_info": info, "capabilities": ["tools", "thinking"] }).to_string(),
            )
        }
        ("POST /v1/chat/completions HTTP/1.1", Mood::Suspicious) => (401, format!("who is {KEY}?")),
        ("POST /v1/chat/completions HTTP/1.1", Mood::Willing) if body["tools"].is_array() => {
            let function = json!({ "name": "report", "arguments": "{\"word\":\"ready\"}" });
            let call = json!({ "tool_calls": [{ "index": 0, "id": "c", "function": function }] });
            (200, event(call, None) + &event(json!({}), Some("tool_calls")))
        }
        ("POST /v1/chat/completions HTTP/1.1", Mood::Willing) => {
            let pieces = ["1 2 ", "3"].map(|text| event(json!({ "content": text }), None));
            (200, pieces.concat() + &event(json!({}), Some("stop")))
        }
        _ => (404, String::new()),
    }
}

fn models(home: &Home, args: &[&str], with: impl FnOnce(&mut Command)) -> Output {
    let mut command = home.deft(&[&["models"], args].concat());
    command.env_remove("LLM_API_KEY").env("OPENAI_API_KEY", KEY);
    with(&mut command);
    let output = command.output().unwrap();
    let printed = stdout(&output) + &stderr(&output);
    assert!(!printed.contains(KEY), "{printed}");
    output
}

/// Asks until the local server was found: on a busy machine it may once be slower than people want to wait.
fn found(list: impl Fn() -> Output, words: &str) -> Output {
    let start = Instant::now();
    loop {
        let output = list();
        if stdout(&output).contains(words) || start.elapsed() > Duration::from_secs(30) {
            return output;
        }
    }
}

#[test]
fn what_is_set_up_and_what_runs_here_is_listed() {
    let home = Home::new();
    let address = start(Mood::Willing);
    let host = address.strip_prefix("http://").unwrap().to_owned();
    fs::create_dir(home.root.path().join(".deft")).unwrap();
    let tables = "[models.fast]\nmodel = 'ollama/qwen3:8b'\n";
    fs::write(home.root.path().join(".deft/deft.toml"), tables).unwrap();
    let list = || {
        models(&home, &[], |command| {
            command
                .env("OLLAMA_HOST", &host)
                .env("LLM_MODEL", "openai/gpt-4o");
        })
    };
    let output = found(list, "41.0k tokens");
    let shown = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{shown}{}", stderr(&output));
    for words in [
        "openai/gpt-4o  128.0k tokens  $2.50 in, $10.00 out per million  tools, vision",
        "set by environment variable LLM_MODEL",
        "OPENAI_API_KEY is set",
        "GEMINI_API_KEY is not set",
        &format!("Ollama at {address}"),
        "    ollama/qwen3:8b  41.0k tokens  free  tools, thinking",
        "    fast = ollama/qwen3:8b  41.0k tokens  free  tools, thinking",
    ] {
        assert!(shown.contains(words), "no {words:?} in {shown}");
    }
}

#[test]
fn the_list_is_json_too_and_a_local_model_that_is_set_has_its_own_facts() {
    let home = Home::new();
    let host = start(Mood::Willing).replace("http://", "http://me:hush@");
    let list = || {
        models(&home, &["--json", "--model", "ollama/qwen3:8b"], |command| {
            command.env("OLLAMA_HOST", &host);
        })
    };
    let output = found(list, "40960");
    assert!(!stdout(&output).contains("hush"), "{}", stdout(&output));
    let list: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let model = json!({
        "name": "ollama/qwen3:8b", "context_window": 40_960, "input_price_per_million": 0.0,
        "output_price_per_million": 0.0, "abilities": ["tools", "thinking"],
    });
    assert_eq!(list["local"][0]["models"], json!([model]));
    assert_eq!(list["local"][0]["running"], true);
    assert_eq!(list["configured"]["context_window"], 40_960);
    assert_eq!(list["configured"]["source"], "--model");
    let openai = json!({ "name": "openai", "key_variable": "OPENAI_API_KEY", "key_is_set": true });
    assert_eq!(list["providers"][0], openai);
}

#[test]
fn a_model_that_works_passes_its_test_and_one_that_does_not_fails_at_a_layer() {
    let home = Home::new();
    let test = |mood| {
        let base_url = format!("{}/v1", start(mood));
        models(&home, &["test", "openai/gpt-4o", "--base-url", &base_url], |_| ())
    };
    let output = test(Mood::Willing);
    let shown = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{shown}{}", stderr(&output));
    assert_eq!(
        (shown.matches('✔').count(), shown.matches('✘').count()),
        (8, 0),
        "{shown}"
    );

    let output = test(Mood::Suspicious);
    let shown = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{shown}{}", stderr(&output));
    assert!(
        shown.contains("✘ authentication") && shown.contains("→"),
        "{shown}"
    );
    assert_eq!(shown.matches('✔').count(), 3, "{shown}");
}

#[test]
fn a_test_of_no_model_asks_which() {
    let output = models(&Home::new(), &["test"], |_| ());
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("deft models test PROVIDER/NAME"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_task_goes_to_the_model_of_its_class_and_the_classifier_is_in_the_stats() {
    let home = Home::new();
    let script = |name: &str, text: &str| {
        let file = home.root.path().join(name);
        fs::write(&file, text).unwrap();
        format!("script:{}", file.display())
    };
    let usual = script("usual", "[{text: as usual}]");
    let judge = script("judge", "[{text: hard, cost: 0.5}]");
    let strong = script("strong", "[{text: from the strong one, cost: 0.25}]");
    let tables = format!(
        "[models.main]\nmodel = {usual:?}\nclassifier = {judge:?}\n\
         [[models.main.classes]]\nname = 'hard'\ndescription = 'bugs'\nmodel = {strong:?}\n"
    );
    fs::create_dir(home.root.path().join(".deft")).unwrap();
    fs::write(home.root.path().join(".deft/deft.toml"), tables).unwrap();
    let output = home
        .deft(&["run", "-t", "x", "--model", "main"])
        .output()
        .unwrap();
    let shown = stdout(&output);
    assert!(output.status.success(), "{shown}{}", stderr(&output));
    assert!(
        shown.contains("from the strong one") && shown.contains("$0.75"),
        "{shown}"
    );
}

#[test]
fn what_a_judge_finds_is_said_where_an_action_waits_and_that_it_failed_too() {
    let home = Home::new();
    let model = home.script("[{tool_calls: [{name: terminal, arguments: {command: ls}}]}]");
    for (verdict, why) in [
        (
            "[{text: '1: HIGH looks at everything'}]",
            "the judge: looks at everything",
        ),
        (
            "[{error: {kind: authentication, message: no key}}]",
            "the judge failed: ",
        ),
    ] {
        let judge = home.root.path().join("judge.yaml");
        std::fs::write(&judge, verdict).unwrap();
        let judge = format!("script:{}", judge.display());
        let ran = home.run(&["run", "-t", "look", "--model", &model, "--judge-model", &judge]);
        assert_eq!(ran.status.code(), Some(3), "{}", stderr(&ran));
        let shown = stdout(&ran);
        assert!(shown.contains(&format!("Why it waits: {why}")), "{shown}");
    }
}
