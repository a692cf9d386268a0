//! A workspace that takes long to reach keeps nobody waiting: not who says something, not who wants it stopped.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use deft_engine::{CommandError, Conversation, Extensions, Live, OfProject, Rewind, SkillSources};
use deft_tools::{CheckpointId, Overwrite};
use deft_types::{Event, EventBody, Source, Status, text_of};
use deft_workspace::{Preparation, Stream, Workspace, WorkspaceError};
use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use tokio::sync::{Notify, watch};

use crate::desk::{Desk, Executors, said_last, say, settled};

/// Opens once the gate is open.
struct Gated {
    inner: Arc<Executors>,
    gate: watch::Receiver<bool>,
    preparation: Preparation,
}

impl Workspace for Gated {
    fn find(&self) -> BoxFuture<'_, Option<Box<dyn Stream>>> {
        self.inner.find()
    }

    fn open(&self) -> BoxFuture<'_, Result<Box<dyn Stream>, WorkspaceError>> {
        async move {
            self.preparation.tell("pulled 5 of 10 MB (50 %)".to_owned());
            let _ = self.gate.clone().wait_for(|open| *open).await;
            self.inner.open().await
        }
        .boxed()
    }

    fn preparation(&self) -> Option<&Preparation> {
        Some(&self.preparation)
    }
}

async fn opened(desk: &Desk, gate: &watch::Sender<bool>) -> Conversation {
    let mut parts = desk.parts(Desk::limits()).await;
    parts.outfit.checkpoints = true;
    parts.workspace = Arc::new(Gated {
        inner: desk.executors.clone(),
        gate: gate.subscribe(),
        preparation: Preparation::default(),
    });
    parts.extensions = Extensions {
        skills: Some(SkillSources {
            project: OfProject::Used,
            ..SkillSources::default()
        }),
        ..Extensions::default()
    };
    Conversation::open(parts).await.unwrap()
}

/// A skill that the word docker brings in.
fn write_skill(desk: &Desk) {
    let triggered = desk.executors.work.join(".openhands/microagents");
    fs::create_dir_all(&triggered).unwrap();
    fs::write(
        triggered.join("docker.md"),
        "---\ntriggers: [docker]\n---\nStart dockerd.",
    )
    .unwrap();
}

#[tokio::test]
async fn it_is_heard_and_stopped_meanwhile_and_the_agent_knows_its_skills_in_the_end() {
    let desk = Desk::new("[{text: done}]").await;
    fs::write(desk.executors.work.join("AGENTS.md"), "Run the tests.").unwrap();
    write_skill(&desk);
    let gate = watch::Sender::new(false);
    let conversation = opened(&desk, &gate).await;
    let mut shown = conversation.live();

    say(&conversation, "use docker").await;
    let line = "pulled 5 of 10 MB (50 %)".to_owned();
    assert_eq!(shown.recv().await.unwrap(), Live::Preparing { line });
    assert!(
        desk.events()
            .await
            .iter()
            .any(|event| event.source == Source::User),
        "the message is not stored"
    );
    conversation.run().await.unwrap();
    let began = Instant::now();
    conversation.interrupt().await.unwrap();
    assert!(
        began.elapsed() < Duration::from_millis(300),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(conversation.inspect().await.unwrap().status, Status::Paused);

    conversation.run().await.unwrap();
    gate.send_replace(true);
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    let request = desk.model.requests.lock().unwrap()[0].clone();
    let texts: Vec<_> = request
        .messages
        .iter()
        .map(|said| text_of(&said.content))
        .collect();
    assert!(texts[0].contains("Run the tests."), "{texts:?}");
    assert!(texts[1].contains("use docker"), "{texts:?}");
    assert!(texts[1..].concat().contains("Start dockerd."), "{texts:?}");
    let prompts = desk.events().await;
    let prompts = prompts
        .iter()
        .filter(|event| matches!(event.body, EventBody::SystemPrompt(_)));
    assert_eq!(prompts.count(), 1);
}

#[tokio::test]
async fn whoever_looks_what_going_back_would_change_opens_no_workspace_once_the_conversation_is_closed() {
    let desk = Desk::new("[{text: done}]").await;
    let gate = watch::Sender::new(false);
    let conversation = opened(&desk, &gate).await;
    let mut shown = conversation.live();
    let asked = conversation.clone();
    let preview = tokio::spawn(async move { asked.preview_files(CheckpointId(1)).await });
    assert!(matches!(shown.recv().await, Ok(Live::Preparing { .. })));

    conversation.close(deft_engine::ExecutorFate::End).await;
    assert!(matches!(preview.await.unwrap(), Err(CommandError::Closed)));
    assert_eq!(gate.receiver_count(), 0, "somebody still waits for the workspace");
}

#[tokio::test]
async fn what_was_said_before_the_process_ended_is_answered_by_the_next() {
    let desk = Desk::new("[{text: done}]").await;
    let gate = watch::Sender::new(false);
    let conversation = opened(&desk, &gate).await;
    say(&conversation, "do it").await;
    conversation.close(deft_engine::ExecutorFate::Keep).await;

    gate.send_replace(true);
    let conversation = opened(&desk, &gate).await;
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    let request = desk.model.requests.lock().unwrap()[0].clone();
    assert_eq!(text_of(&request.messages[1].content), "do it");
}

#[tokio::test]
async fn a_message_that_did_not_wait_brings_its_skills_in_later_also_behind_a_prompt() {
    let desk = Desk::new("[{text: one}, {text: two}]").await;
    write_skill(&desk);
    let gate = watch::Sender::new(true);
    let conversation = opened(&desk, &gate).await;
    say(&conversation, "begin").await;
    conversation.run().await.unwrap();
    settled(&conversation).await;
    conversation.close(deft_engine::ExecutorFate::Keep).await;

    gate.send_replace(false);
    let conversation = opened(&desk, &gate).await;
    say(&conversation, "now docker").await;
    say(&conversation, "and more").await;
    conversation.run().await.unwrap();
    gate.send_replace(true);
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    let request = desk.model.requests.lock().unwrap()[1].clone();
    let texts: Vec<_> = request
        .messages
        .iter()
        .map(|said| text_of(&said.content))
        .collect();
    assert_eq!(
        texts[1..].concat().matches("Start dockerd.").count(),
        1,
        "{texts:?}"
    );

    conversation.close(deft_engine::ExecutorFate::Keep).await;
    let conversation = opened(&desk, &gate).await;
    conversation.navigate(None).await.unwrap();
    conversation.run().await.unwrap();
    settled(&conversation).await;
    assert_eq!(desk.model.asked(), 2, "nobody has said anything there");
}

#[tokio::test]
async fn files_are_restored_while_the_conversation_hears_what_it_is_told() {
    let call = r#"{tool_calls: [{name: terminal, arguments: {command: "echo one > one"}}]}"#;
    let desk = Desk::new(&format!("[{call}, {{text: done}}]")).await;
    let gate = watch::Sender::new(true);
    let conversation = opened(&desk, &gate).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    let said = said_last(&conversation).await;
    conversation.close(deft_engine::ExecutorFate::End).await;
    assert_eq!(desk.file("one").trim(), "one");

    gate.send_replace(false);
    let conversation = opened(&desk, &gate).await;
    let rewind = conversation.rewind(said.clone(), Rewind::Both, Overwrite::Refuse);
    let full = Notify::new();
    let runs = join_all((0..100).map(|_| async {
        let run = conversation.run().await;
        if matches!(run, Err(CommandError::TooManyWait(_))) {
            full.notify_one();
        }
        run
    }));
    let stop = async {
        let refused = tokio::time::timeout(Duration::from_secs(10), full.notified());
        refused.await.expect("not all wait for the files");
        conversation.interrupt().await.unwrap();
    };
    let (rewound, runs, ()) = tokio::join!(rewind, runs, stop);
    assert!(matches!(rewound, Err(CommandError::Interrupted)), "{rewound:?}");
    let waited = runs
        .iter()
        .filter(|run| matches!(run, Err(CommandError::Interrupted)));
    assert_eq!(waited.count(), 64);
    assert_eq!(desk.file("one").trim(), "one");

    let rewind = conversation.rewind(said, Rewind::Both, Overwrite::Refuse);
    let meanwhile = async {
        let began = Instant::now();
        say(&conversation, "not so fast").await;
        assert!(
            began.elapsed() < Duration::from_millis(300),
            "{:?}",
            began.elapsed()
        );
        gate.send_replace(true);
    };
    let (rewound, ()) = tokio::join!(rewind, meanwhile);
    let error = rewound.unwrap_err().to_string();
    assert!(error.contains("went on meanwhile"), "{error}");
    assert_eq!(desk.file("one"), "");
    let events = desk.events().await;
    let told = |key: &str| {
        let is_told =
            |event: &&Event| matches!(&event.body, EventBody::StateUpdate(update) if update.key == key);
        events.iter().filter(is_told).count()
    };
    assert_eq!(
        (told("restored_files"), told("leaf_event_id")),
        (1, 0),
        "{events:?}"
    );
}
