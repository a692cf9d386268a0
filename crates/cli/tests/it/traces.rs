//! What a collector of traces gets to see.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use prost::Message as _;
use serde_json::json;

use crate::commands::{Home, stderr};
use crate::serve::Served;

/// A request as it came.
struct Received {
    head: String,
    body: Vec<u8>,
}

/// A collector on loopback that takes whatever is sent.
struct Collector {
    address: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let received: Arc<Mutex<Vec<Received>>> = Arc::default();
        let kept = Arc::clone(&received);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || while take(&stream, &kept).is_some() {});
            }
        });
        Self { address, received }
    }

    /// All spans so far.
    fn spans(&self) -> Vec<Span> {
        let received = self.received.lock().unwrap();
        let requests = received
            .iter()
            .map(|received| ExportTraceServiceRequest::decode(received.body.as_slice()).unwrap());
        requests
            .flat_map(|request| request.resource_spans)
            .flat_map(|resource| resource.scope_spans)
            .flat_map(|scope| scope.spans)
            .collect()
    }
}

/// Takes one request of a connection.
fn take(stream: &TcpStream, kept: &Mutex<Vec<Received>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head
        .lines()
        .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok())?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    kept.lock().unwrap().push(Received { head, body });
    let mut stream = stream;
    stream
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        .ok()
}

fn text(value: Option<&AnyValue>) -> String {
    match value.and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::DoubleValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    }
}

fn attributes(list: &[KeyValue]) -> BTreeMap<&str, String> {
    list.iter()
        .map(|pair| (pair.key.as_str(), text(pair.value.as_ref())))
        .collect()
}

const SCRIPT: &str = r#"
- text: The word is TOPSECRET-REPLY.
  usage: {prompt: 120, completion: 7, cache_read: 100}
  cost: 0.25
  tool_calls:
    - name: terminal
      arguments: {command: "echo TOPSECRET-OUTPUT"}
    - name: file_editor
      arguments: {command: view, path: /nowhere/TOPSECRET-PATH}
- error: {kind: bad_request, message: TOPSECRET-ERROR}
"#;

#[test]
fn a_run_is_traced_step_by_step_and_nothing_that_was_said_is_in_it() {
    let (home, collector) = (Home::new(), Collector::start());
    let served = Served::start(
        &home,
        &[
            ("SESSION_API_KEY", "k-one"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.address),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=blue"),
            ("OTEL_SERVICE_NAME", "deft-of-the-test"),
        ],
    );
    let message = json!({"role": "user", "content": [{"type": "text", "text": "TOPSECRET-TASK"}]});
    let body = json!({
        "agent": {"llm": {"model": home.script(SCRIPT)}, "tools": [{"name": "terminal"}, {"name": "file_editor"}]},
        "workspace": {"working_dir": home.work()},
        "initial_message": message,
    });
    let (status, begun) = served.post("/api/conversations", "k-one", &body);
    assert_eq!(status, 201, "{begun}");
    let id = begun["id"].as_str().unwrap().to_owned();
    let path = format!("/api/conversations/{id}");
    let since = Instant::now();
    while served.send("GET", &path, "k-one", &json!(null)).1["execution_status"] != "error" {
        assert!(since.elapsed() < Duration::from_secs(60), "the run does not end");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(served.terminate(), Some(0));

    let spans = collector.spans();
    let named = |name: &str| {
        let mut found: Vec<&Span> = spans.iter().filter(|span| span.name.starts_with(name)).collect();
        found.sort_by_key(|span| span.start_time_unix_nano);
        found
    };
    let [run] = named("invoke_agent")[..] else {
        panic!("one run is expected: {spans:?}")
    };
    assert!(run.parent_span_id.is_empty());
    let said = attributes(&run.attributes);
    assert_eq!(
        said["gen_ai.conversation.id"].replace('-', ""),
        id.replace('-', "")
    );
    assert_eq!((&*said["deft.status"], &*said["error.type"]), ("error", "error"));
    let [first, second] = named("step")[..] else {
        panic!("two steps are expected: {spans:?}")
    };
    let [asked, failed] = named("chat")[..] else {
        panic!("two model calls are expected: {spans:?}")
    };
    let tools = named("execute_tool");
    for (child, parent) in [(first, run), (second, run), (asked, first), (failed, second)]
        .into_iter()
        .chain(tools.iter().map(|tool| (*tool, first)))
    {
        assert_eq!(child.parent_span_id, parent.span_id, "{}", child.name);
        assert_eq!(child.trace_id, run.trace_id);
    }
    let used = attributes(&asked.attributes);
    for (name, value) in [
        ("gen_ai.usage.input_tokens", "120"),
        ("gen_ai.usage.output_tokens", "7"),
        ("gen_ai.usage.cache_read.input_tokens", "100"),
        ("deft.cost_usd", "0.25"),
        ("gen_ai.response.finish_reasons", "tool_calls"),
    ] {
        assert_eq!(used[name], value, "{name}");
    }
    let is_error = |span: &Span| {
        span.status
            .as_ref()
            .is_some_and(|status| status.code() == StatusCode::Error)
    };
    assert!(is_error(run) && is_error(failed) && !is_error(asked));
    assert_eq!(attributes(&failed.attributes)["error.type"], "LLMBadRequestError");
    let told: Vec<_> = tools
        .iter()
        .map(|tool| (tool.name.as_str(), is_error(tool)))
        .collect();
    assert_eq!(
        told,
        [
            ("execute_tool terminal", false),
            ("execute_tool file_editor", true)
        ]
    );

    let received = collector.received.lock().unwrap();
    for Received { head, body } in received.iter() {
        assert!(
            head.starts_with("POST /v1/traces ") && head.contains("x-tenant: blue"),
            "{head}"
        );
        let body = String::from_utf8_lossy(body);
        assert!(body.contains("deft-of-the-test"));
        for secret in ["TOPSECRET", "sk-of-the-test", "k-one"] {
            assert!(!body.contains(secret), "{secret} is in {body}");
        }
    }
}

#[test]
fn the_run_of_a_sub_agent_stands_below_the_call_that_started_it() {
    let (home, collector) = (Home::new(), Collector::start());
    let script = home.script("[{tool_calls: [{name: task, arguments: {prompt: look}}]}, {text: done}]");
    let helper = home.root.path().join("helper.yaml");
    std::fs::write(&helper, "[{text: looked}]").unwrap();
    let output = home
        .deft(&["run", "--model", &script, "-t", "Go."])
        .args(["--agents-model", &format!("script:{}", helper.display())])
        .env("DEFT_OTLP_ENDPOINT", &collector.address)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let spans = collector.spans();
    let call = spans
        .iter()
        .find(|span| span.name == "execute_tool task")
        .unwrap();
    let runs: Vec<_> = spans
        .iter()
        .filter(|span| span.name.starts_with("invoke_agent"))
        .collect();
    assert_eq!(runs.len(), 2, "{spans:?}");
    assert!(runs.iter().all(|run| run.trace_id == call.trace_id));
    assert!(
        runs.iter().any(|run| run.parent_span_id == call.span_id),
        "{runs:?}"
    );
}

#[test]
fn a_collector_that_never_answers_delays_nobody() {
    let home = Home::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap(); // takes connections, and says nothing
    let address = format!("http://{}", silent.local_addr().unwrap());
    let model = home.script("- text: Hello.");
    let since = Instant::now();
    let output = home
        .deft(&["run", "--model", &model, "-t", "Hello."])
        .env("DEFT_OTLP_ENDPOINT", &address)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(since.elapsed() < Duration::from_secs(8), "{:?}", since.elapsed());
    assert!(silent.accept().is_ok(), "it was tried");
}

#[test]
fn an_address_that_is_none_is_told() {
    let home = Home::new();
    let output = home
        .deft(&["serve", "--port", "0"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317")
        .output()
        .unwrap();
    assert!(
        stderr(&output).contains("OTEL_EXPORTER_OTLP_ENDPOINT"),
        "{}",
        stderr(&output)
    );
}
