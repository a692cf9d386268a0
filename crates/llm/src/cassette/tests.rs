use std::sync::Arc;

use deft_types::{Message, Role, Secret};
use tempfile::TempDir;

use super::*;
use crate::{Model, ModelSettings, Reply, ToolSchema, complete, open};

const SCRIPT: &str = r#"
- text: "Let me look, sk-secret-key."
  tool_calls: [{name: terminal, arguments: {command: ls}}]
- error: {kind: rate_limit, retry_after: 3}
- text: "Done."
"#;

struct Desk {
    directory: TempDir,
    model: Arc<dyn Model>,
}

impl Desk {
    fn cassette(&self) -> PathBuf {
        self.directory.path().join("run.jsonl")
    }

    fn replay(&self) -> Arc<dyn Model> {
        open(
            &format!("replay:{}", self.cassette().display()),
            &ModelSettings::default(),
        )
        .unwrap()
    }
}

fn record(script: &str) -> Desk {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("script.yaml");
    std::fs::write(&path, script).unwrap();
    let cassette = directory.path().join("run.jsonl");
    let settings = ModelSettings {
        api_key: Some(Secret::new("sk-secret-key".to_owned())),
        ..ModelSettings::default()
    };
    let name = format!("record:{}:script:{}", cassette.display(), path.display());
    let model = open(&name, &settings).unwrap();
    assert_eq!(model.profile().name, name);
    Desk { directory, model }
}

/// The user and the model by turns.
fn ask(words: &[&str]) -> Request {
    let speakers = [Role::User, Role::Assistant].into_iter().cycle();
    Request {
        messages: words
            .iter()
            .zip(speakers)
            .map(|(word, role)| Arc::new(Message::text(role, *word)))
            .collect(),
        tools: Arc::new([ToolSchema {
            name: "terminal".to_owned(),
            description: "Runs a command.".to_owned(),
            parameters: json!({ "type": "object" }),
        }]),
        cache_key: Some(uuid::Uuid::new_v4().to_string()),
    }
}

async fn answer(model: &Arc<dyn Model>, words: &[&str]) -> Result<Reply, ModelError> {
    complete(&**model, ask(words), |_| ()).await
}

#[tokio::test]
async fn what_was_recorded_is_played_back_failures_included() {
    let desk = record(SCRIPT);
    let said = [
        answer(&desk.model, &["one"]).await,
        answer(&desk.model, &["one", "ls", "two"]).await,
        answer(&desk.model, &["one", "ls", "two"]).await,
    ];
    assert!(said[1].is_err(), "{said:?}");
    let replay = desk.replay();
    let asked: [&[&str]; 3] = [&["one"], &["one", "ls", "two"], &["one", "ls", "two"]];
    for (words, said) in asked.into_iter().zip(said) {
        match (answer(&replay, words).await, said) {
            (Ok(played), Ok(said)) => {
                assert_eq!(played.text, said.text.replace("sk-secret-key", "**********"));
                assert_eq!(
                    (played.tool_calls, played.usage, played.cost),
                    (said.tool_calls, said.usage, said.cost)
                );
                assert_eq!(
                    (played.response_id, played.finish),
                    (said.response_id, said.finish)
                );
            }
            (Err(played), Err(said)) => assert_eq!(played, said),
            (played, said) => panic!("{played:?} instead of {said:?}"),
        }
    }
}

#[tokio::test]
async fn the_key_is_not_on_the_cassette_even_if_the_model_says_it() {
    let desk = record(SCRIPT);
    answer(&desk.model, &["my key is sk-secret-key"]).await.unwrap();
    let text = std::fs::read_to_string(desk.cassette()).unwrap();
    assert!(
        text.contains("my key is **********") && !text.contains("sk-secret-key"),
        "{text}"
    );
}

#[tokio::test]
async fn another_request_is_refused_with_the_place_that_differs() {
    let desk = record("[{text: Hi}, {text: Hi}]");
    answer(&desk.model, &["one", "and more"]).await.unwrap();
    let error = answer(&desk.replay(), &["one", "and less"]).await.unwrap_err();
    let message = error.to_string();
    assert!(message.contains("request 1 of"), "{message}");
    assert!(message.contains("`/messages/1/content/0/text`"), "{message}");
    assert!(
        message.contains("\"and more\"") && message.contains("\"and less\""),
        "{message}"
    );
    assert!(!error.is_transient(), "asking again cannot help");
}

#[tokio::test]
async fn a_cassette_that_is_played_to_its_end_says_so() {
    let desk = record(SCRIPT);
    answer(&desk.model, &["one"]).await.unwrap();
    let replay = desk.replay();
    answer(&replay, &["one"]).await.unwrap();
    let message = answer(&replay, &["one"]).await.unwrap_err().to_string();
    assert!(message.contains("all 1 replies"), "{message}");
}

#[tokio::test]
async fn replies_to_concurrent_requests_are_found_in_any_order() {
    let desk = record("[{text: first}, {text: second}]");
    answer(&desk.model, &["a"]).await.unwrap();
    answer(&desk.model, &["a", "first", "b"]).await.unwrap();
    let replay = desk.replay();
    assert_eq!(
        answer(&replay, &["a", "first", "b"]).await.unwrap().text,
        "second"
    );
    assert_eq!(answer(&replay, &["a"]).await.unwrap().text, "first");
}

#[tokio::test]
async fn a_recording_goes_on_where_it_ended() {
    let desk = record("[{text: first}]");
    answer(&desk.model, &["a"]).await.unwrap();
    let again = open(
        &format!("record:{}:demo", desk.cassette().display()),
        &ModelSettings::default(),
    )
    .unwrap();
    answer(&again, &["b"]).await.unwrap();
    let replay = desk.replay();
    assert_eq!(answer(&replay, &["a"]).await.unwrap().text, "first");
    assert!(answer(&replay, &["b"]).await.is_ok());
}

#[tokio::test]
async fn an_empty_or_short_key_spoils_nothing() {
    for key in ["\n", "x", "messages"] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("run.jsonl");
        let settings = ModelSettings {
            api_key: Some(Secret::new(key.to_owned())),
            ..ModelSettings::default()
        };
        let model = open(&format!("record:{}:demo", file.display()), &settings).unwrap();
        answer(&model, &["a"]).await.unwrap();
        assert!(read(&file).is_ok(), "{key}");
        assert!(!std::fs::read_to_string(&file).unwrap().contains('*'), "{key}");
    }
}

#[test]
fn a_file_that_is_no_cassette_is_left_alone_and_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("notes.txt");
    std::fs::write(&file, "dear diary").unwrap();
    for name in [
        format!("record:{}:demo", file.display()),
        format!("replay:{}", file.display()),
    ] {
        let error = open(&name, &ModelSettings::default()).err().unwrap().to_string();
        assert!(
            error.contains("notes.txt:1 is not a line of a cassette"),
            "{error}"
        );
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "dear diary");

    let missing = open("replay:/no/such/file", &ModelSettings::default());
    assert!(missing.err().unwrap().to_string().contains("/no/such/file"));
    let nameless = open("record:file", &ModelSettings::default());
    assert!(nameless.err().unwrap().to_string().contains("record:FILE:MODEL"));
}
