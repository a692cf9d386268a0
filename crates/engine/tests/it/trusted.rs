//! What a project brings along and may run, when a conversation is taken up again.

use std::fs;
use std::sync::Arc;

use deft_engine::{Answer, Conversation, Decision, ExecutorFate, Extensions, OfProject, decide};
use deft_types::{ConfirmationPolicy, Status};
use deft_workspace::{Glance, Stream, Workspace, WorkspaceError};
use futures::future::BoxFuture;
use futures::{FutureExt as _, TryFutureExt as _};

use crate::desk::{Desk, Executors, say, settled};

const REFUSES: &str = r#"{"pre_tool_use": [{"hooks": [{"command": "sh ./check.sh"}]}]}"#;

async fn opened(desk: &Desk, policy: ConfirmationPolicy) -> Conversation {
    let mut parts = desk.parts(Desk::limits()).await;
    parts.safety.policy = policy;
    parts.extensions = Extensions {
        project_hooks: OfProject::Used,
        ..Extensions::default()
    };
    Conversation::open(parts).await.unwrap()
}

/// A project with a hook that refuses every call.
fn write_hook(desk: &Desk) {
    let work = &desk.executors.work;
    fs::create_dir_all(work.join(".openhands")).unwrap();
    fs::write(work.join(".openhands/hooks.json"), REFUSES).unwrap();
    fs::write(work.join("check.sh"), "exit 2\n").unwrap();
}

async fn decide_all(desk: &Desk, conversation: &Conversation, decision: Decision) {
    for provided in conversation.inspect().await.unwrap().asked_about {
        decide(desk.store.as_ref(), &provided.fingerprint, Some(decision))
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_call_that_is_approved_after_a_restart_is_asked_about_by_hooks() {
    let script =
        "[{text: hello}, {tool_calls: [{name: terminal, arguments: {command: touch ran}}]}, {text: done}]";
    let desk = Desk::new(script).await;
    write_hook(&desk);
    let conversation = opened(&desk, ConfirmationPolicy::AlwaysConfirm).await;
    say(&conversation, "begin").await;
    conversation.run().await.unwrap();
    settled(&conversation).await;
    decide_all(&desk, &conversation, Decision::Allow).await;
    say(&conversation, "go").await;
    conversation.run().await.unwrap();
    assert_eq!(
        settled(&conversation).await.status,
        Status::WaitingForConfirmation
    );
    conversation.close(ExecutorFate::Keep).await;

    let conversation = opened(&desk, ConfirmationPolicy::AlwaysConfirm).await;
    let waiting = desk.events().await;
    let waiting = waiting.iter().rev().find_map(|event| match &event.body {
        deft_types::EventBody::Action(_) => Some(event.id.clone()),
        _ => None,
    });
    let answers = vec![(waiting.unwrap(), Answer::Approve)];
    conversation.respond(answers).await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert!(!desk.executors.work.join("ran").exists(), "the hook refuses it");
}

/// A container: its files are seen from beside it, under another name.
struct Container(Arc<Executors>);

impl Workspace for Container {
    fn open(&self) -> BoxFuture<'_, Result<Box<dyn Stream>, WorkspaceError>> {
        self.0.open()
    }

    fn find(&self) -> BoxFuture<'_, Option<Box<dyn Stream>>> {
        self.0.find()
    }

    fn glance(&self) -> BoxFuture<'_, Result<Glance, WorkspaceError>> {
        let root = "/inside".to_owned();
        self.open()
            .map_ok(|stream| Glance::Beside { stream, root })
            .boxed()
    }
}

#[tokio::test]
async fn scripts_of_a_container_are_read_where_they_are_and_named_as_they_are_called_inside() {
    let mut seen = Vec::new();
    for (named, written) in [
        ("sh ./check.sh", "exit 2\n"),
        ("sh ./check.sh", "exit 3\n"),
        ("sh /inside/check.sh", "exit 2\n"),
    ] {
        let desk = Desk::new("[{text: hello}]").await;
        write_hook(&desk);
        let work = &desk.executors.work;
        let hooks = REFUSES.replace("sh ./check.sh", named);
        fs::write(work.join(".openhands/hooks.json"), hooks).unwrap();
        fs::write(work.join("check.sh"), written).unwrap();
        let mut parts = desk.parts(Desk::limits()).await;
        parts.workspace = Arc::new(Container(desk.executors.clone()));
        parts.extensions = Extensions {
            project_hooks: OfProject::Used,
            ..Extensions::default()
        };
        let conversation = Conversation::open(parts).await.unwrap();
        desk.run(&conversation).await;
        let [hooks] = &conversation.inspect().await.unwrap().undecided[..] else {
            panic!("the hooks of the project are asked about");
        };
        assert_eq!(hooks.scripts, ["check.sh"], "{named}");
        seen.push(hooks.fingerprint.clone());
    }
    assert_ne!(
        seen[0], seen[1],
        "the decision is bound to the text of the script"
    );
}

#[tokio::test]
async fn what_may_run_is_bound_to_its_scripts_at_each_run_and_can_be_withdrawn() {
    let call =
        |name: &str| format!("{{tool_calls: [{{name: terminal, arguments: {{command: touch {name}}}}}]}}");
    let script = format!(
        "[{{text: hello}}, {}, {{text: done}}, {}, {{text: done}}, {}, {{text: done}}]",
        call("one"),
        call("two"),
        call("three")
    );
    let desk = Desk::new(&script).await;
    write_hook(&desk);
    let run = async |conversation: &Conversation, text: &str| {
        say(conversation, text).await;
        conversation.run().await.unwrap();
        settled(conversation).await;
    };
    let conversation = opened(&desk, ConfirmationPolicy::NeverConfirm).await;
    run(&conversation, "begin").await;
    decide_all(&desk, &conversation, Decision::Allow).await;
    let exists = |name: &str| desk.executors.work.join(name).exists();
    run(&conversation, "one").await;
    assert!(!exists("one"), "the hook refuses it");

    fs::write(desk.executors.work.join("check.sh"), "exit 2 # changed\n").unwrap();
    run(&conversation, "two").await;
    assert!(exists("two"), "nobody has agreed to the script as it is now");
    assert_eq!(conversation.inspect().await.unwrap().undecided.len(), 1);
    decide_all(&desk, &conversation, Decision::Deny).await;
    run(&conversation, "three").await;
    assert!(exists("three"));
    assert!(conversation.inspect().await.unwrap().undecided.is_empty());
}
