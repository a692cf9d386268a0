//! A real model: `SmolLM2` with 135 million parameters, on the server of llama.cpp. `scripts/small-model` installs it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use deft_llm::CountSource;

use super::*;

/// A running server; it ends with this value.
struct SmallModel {
    process: Child,
    address: String,
}

impl Drop for SmallModel {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

impl SmallModel {
    /// `None` where it is not installed, which is said.
    #[allow(clippy::print_stderr)]
    fn start() -> Option<Self> {
        let Some(directory) = installed() else {
            eprintln!("skipped: no small model here; `make test-small-model` installs it");
            return None;
        };
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/small-model-server.py");
        let mut process = Command::new(directory.join("venv/bin/python"))
            .arg(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let address = lines
            .find_map(|line| Some(line.unwrap().split_once("listening on ")?.1.to_owned()))
            .expect("the server ended before it listened");
        // It goes on writing: somebody must read, or it stops.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self { process, address })
    }
}

fn installed() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(std::env::home_dir()?.join(".cache")))?;
    let directory = cache.join("deft/small-model");
    directory.join("installed").exists().then_some(directory)
}

fn asking(text: &str) -> Request {
    Request {
        messages: vec![
            Arc::new(Message::text(Role::System, "You are a helpful assistant.")),
            Arc::new(Message::text(Role::User, text)),
            Arc::new(Message::text(Role::User, "Answer in one short sentence.")),
        ]
        .into(),
        ..Request::default()
    }
}

#[tokio::test]
async fn a_real_model_streams_counts_and_tells_about_itself() {
    let Some(server) = SmallModel::start() else {
        return;
    };
    let mut settings = ModelSettings {
        api_key: None,
        ..settings(format!("{}/v1", server.address))
    };
    settings.tuning.max_output = Some(Tokens(16));
    settings.tuning.temperature = Some(0.0);
    let model = open("llamacpp/smollm2", &settings).unwrap();

    let mut pieces = 0;
    let reply = complete(&*model, asking("What is the capital of France?"), |delta| {
        pieces += usize::from(matches!(delta, Delta::Text(_)));
    });
    let reply = reply.await.unwrap();
    assert!(!reply.text.trim().is_empty() && pieces > 1, "{reply:?}");
    assert!((1..=16).contains(&reply.usage.completion.0), "{:?}", reply.usage);

    // The server says what its model can do, and counts as it charges.
    let profile = model.profile();
    let context = profile.context_window.unwrap();
    assert!((1_000..=8_192).contains(&context.0), "{context:?}");
    assert!(!profile.capabilities.native_tool_calls);
    let count = model.count(asking("What is the capital of France?")).await;
    assert_eq!(
        (count.source, count.tokens),
        (CountSource::Server, reply.usage.prompt)
    );

    // Tools go out as words; whatever a model this small makes of them, it is a reply.
    let request = Request {
        tools: super::request().tools,
        ..asking("List the files here.")
    };
    let reply = complete(&*model, request, |_| ()).await.unwrap();
    assert!(
        !reply.text.is_empty() || !reply.tool_calls.is_empty(),
        "{reply:?}"
    );
}
