//! Conversations that the program we follow has written can be looked at and gone on with.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use deft_store::{NewConversation, Options, Owner, SqliteStore, Store};
use deft_types::{ConversationId, Event};
use uuid::Uuid;

use crate::commands::{Home, lines, stderr, stdout};

/// Puts the events of a sample into a store, as they are.
#[tokio::main(flavor = "current_thread")]
async fn keep(data: &Path, id: ConversationId, workspace: &Path, events: Vec<Event>) {
    let store = SqliteStore::open(data.join("deft.db"), Options::default()).unwrap();
    let conversation = NewConversation {
        owner: None,
        id,
        created_at: SystemTime::now(),
        workspace: workspace.display().to_string(),
        settings: serde_json::json!({}),
    };
    store.create(conversation).await.unwrap();
    let lease = store.acquire(id, &Owner::this_process()).await.unwrap();
    store.append(&lease, events).await.unwrap();
    store.release(lease).await.unwrap();
}

#[test]
fn every_sample_conversation_is_shown_and_goes_on() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/logs");
    let mut tried = 0;
    for sample in fs::read_dir(samples).unwrap() {
        let mut files: Vec<_> = fs::read_dir(sample.unwrap().path())
            .unwrap()
            .map(|file| file.unwrap().path())
            .collect();
        files.sort();
        let events: Vec<Event> = files
            .iter()
            .map(|file| serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap())
            .collect();
        let home = Home::new();
        let data = home.root.path().join("data");
        fs::create_dir(&data).unwrap();
        let id = ConversationId(Uuid::new_v4());
        let count = events.len();
        keep(&data, id, &home.work(), events);
        let (data, id) = (data.display().to_string(), id.to_string());

        let shown = home.run(&["show", &id, "--json", "--data-dir", &data]);
        assert_eq!(lines(&shown).len(), count, "{}", stderr(&shown));
        let shown = home.run(&["show", &id, "--data-dir", &data]);
        assert!(stdout(&shown).lines().count() >= count, "{}", stderr(&shown));

        let model =
            home.script("[{text: I see.}, {text: I see.}, {text: I see.}, {text: I see.}, {text: I see.}]");
        let went_on = home.run(&[
            "run",
            "--resume",
            &id,
            "-t",
            "and now?",
            "--model",
            &model,
            "--data-dir",
            &data,
        ]);
        assert_eq!(went_on.status.code(), Some(0), "{}", stderr(&went_on));
        assert!(stdout(&went_on).contains("I see."), "{}", stdout(&went_on));
        tried += 1;
    }
    assert_eq!(tried, 2);
}
