//! Killed at any point of the loop, a conversation loses nothing it acknowledged, runs nothing twice, and goes
//! on when it is opened again.
//!
//! The process that is killed is this test binary itself, started again with [`CHILD`] set: the real engine and
//! store, and an executor that is a process of its own and survives.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use deft_engine::{
    Conversation, ExecutorFate, Extensions, Limits, Memory, Outfit, Parts, Point, Safety, Supervision, World,
};
use deft_llm::ModelSettings;
use deft_store::{NewConversation, Options, Owner, SqliteStore, Store};
use deft_tools::{ToolContext, Toolbox};
use deft_types::{ConversationId, Event, EventBody, EventId, Message, Role, Seq, Source, Status};
use deft_workspace::sandbox::{Machine, Plan};
use deft_workspace::{LocalWorkspace, Policy, Terms};
use uuid::Uuid;

/// Set in the process that is to be killed: the directory of the case.
const CHILD: &str = "DEFT_CRASH_TEST_DIRECTORY";
/// Which point to die at, counted from 1; absent to live.
const DIE_AT: &str = "DEFT_CRASH_TEST_POINT";

const SCRIPT: &str = r#"
- text: I begin.
  tool_calls: [{name: terminal, arguments: {command: "echo one >> effects; echo shown; sleep 0.05"}}]
- tool_calls:
  - {name: terminal, arguments: {command: "echo two >> effects"}}
  - {name: teleport, arguments: {}}
  - {name: think, arguments: {thought: hm}}
- tool_calls: [{name: file_editor, arguments: {command: create, path: "WORK/new", file_text: "three\n"}}]
- tool_calls: [{name: finish, arguments: {message: done}}]
"#;

const ID: ConversationId = ConversationId(Uuid::from_u128(7));
const MESSAGE_ID: &str = "11111111-1111-4111-8111-111111111111";

/// Counts the points of the loop, and dies at one of them.
struct Mortal {
    reached: AtomicUsize,
    die_at: Option<usize>,
    journal: PathBuf,
}

impl World for Mortal {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn new_id(&self) -> Uuid {
        Uuid::new_v4()
    }

    fn reached(&self, point: Point) {
        let count = self.reached.fetch_add(1, Ordering::SeqCst) + 1;
        if self.die_at == Some(count) {
            fs::write(&self.journal, format!("{point:?}")).unwrap();
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
        }
    }
}

fn store(case: &Path) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(case.join("deft.db"), Options::default()).unwrap())
}

/// Shut in as by default, so that what holds for crashes holds with a sandbox.
fn plan(work: &Path) -> Plan {
    let policy = Policy::for_user(None, work.parent().unwrap());
    Plan::new(policy, &Machine::probe(), work).unwrap()
}

/// What the process that is killed does: send the task once, run to the end.
#[tokio::main(flavor = "current_thread")]
async fn live(case: &Path, die_at: Option<usize>) {
    let store = store(case);
    let work = case.join("work");
    let world = Arc::new(Mortal {
        reached: AtomicUsize::new(0),
        die_at,
        journal: case.join("died-at"),
    });
    let context = ToolContext {
        workspace: work.clone(),
        private_dir: case.join("x"),
        env: Vec::new(),
    };
    let parts = Parts {
        store: store.clone(),
        lease: store.acquire(ID, &Owner::this_process()).await.unwrap(),
        model: deft_llm::open(
            &format!("script:{}", case.join("script.yaml").display()),
            &ModelSettings::default(),
        )
        .unwrap(),
        model_name: "scripted".to_owned(),
        models: None,
        agents: None,
        workspace: Arc::new(LocalWorkspace {
            program: env!("CARGO_BIN_EXE_deft").into(),
            root: work.clone(),
            directory: case.join("x"),
            terms: Terms {
                linger: Duration::from_secs(60),
                ..Terms::default()
            },
            sandbox: Some(plan(&work)),
        }),
        directory: work.display().to_string(),
        tools: Toolbox::standard(context).unwrap().specs(),
        host: Toolbox::host(),
        responses: BTreeMap::new(),
        world: world.clone(),
        limits: Limits {
            max_steps: 50,
            parallel_calls: 8,
            stuck_detection: true,
            ..Limits::default()
        },
        safety: Safety::default(),
        memory: Memory::default(),
        outfit: Outfit::default(),
        extensions: Extensions::default(),
        supervision: Supervision::default(),
        external: None,
    };
    let conversation = Conversation::open(parts).await.unwrap();
    let task = Message::text(Role::User, "do it");
    conversation.send(EventId::from(MESSAGE_ID), task).await.unwrap();
    fs::write(case.join("acknowledged"), "").unwrap();
    conversation.run().await.unwrap();
    let progress = conversation.settled().await;
    assert_eq!(progress.status, Status::Finished, "{progress:?}");
    fs::write(
        case.join("points"),
        world.reached.load(Ordering::SeqCst).to_string(),
    )
    .unwrap();
    conversation.close(ExecutorFate::End).await;
}

fn prepare(case: &Path) {
    let work = case.join("work");
    fs::create_dir_all(&work).unwrap();
    fs::write(
        case.join("script.yaml"),
        SCRIPT.replace("WORK", &work.display().to_string()),
    )
    .unwrap();
    let conversation = NewConversation {
        id: ID,
        created_at: SystemTime::now(),
        workspace: String::new(),
        settings: serde_json::json!({}),
        owner: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async { store(case).create(conversation).await.unwrap() });
}

fn spawn(case: &Path, die_at: Option<usize>) -> ExitStatus {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "crash::child", "--nocapture", "--ignored"])
        .env(CHILD, case);
    if let Some(point) = die_at {
        command.env(DIE_AT, point.to_string());
    }
    command.output().unwrap().status
}

#[test]
#[ignore = "run by the test below, in a process of its own"]
fn child() {
    if let Ok(case) = std::env::var(CHILD) {
        live(
            Path::new(&case),
            std::env::var(DIE_AT).ok().map(|point| point.parse().unwrap()),
        );
    }
}

fn events(case: &Path) -> Vec<(Seq, Event)> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async { store(case).read(ID, Seq::FIRST, 10_000).await.unwrap() })
}

#[test]
fn invariants_2_3_and_4_hold_wherever_the_process_is_killed() {
    let root = tempfile::tempdir().unwrap();
    let clean = root.path().join("clean");
    prepare(&clean);
    assert!(spawn(&clean, None).success());
    let points: usize = fs::read_to_string(clean.join("points")).unwrap().parse().unwrap();
    assert!(points >= 30, "only {points} points");

    for point in 1..=points {
        let case = root.path().join(point.to_string());
        prepare(&case);
        assert!(!spawn(&case, Some(point)).success(), "it survived point {point}");
        let place = fs::read_to_string(case.join("died-at")).unwrap();
        let place = format!("point {point}, {place}");
        let before = events(&case);
        check_nothing_acknowledged_is_lost(&case, &before, &place);

        assert!(spawn(&case, None).success(), "it did not go on after {place}");
        let after = events(&case);
        assert_eq!(
            after[..before.len()],
            before[..],
            "the log was rewritten after {place}"
        );
        check_log(&after, &place);
        check_effects(&case, &after, &place);
    }
}

fn check_nothing_acknowledged_is_lost(case: &Path, events: &[(Seq, Event)], place: &str) {
    let stored = events
        .iter()
        .filter(|(_, event)| event.id == EventId::from(MESSAGE_ID))
        .count();
    assert!(stored <= 1, "{place}");
    assert!(
        stored == 1 || !case.join("acknowledged").exists(),
        "an acknowledged message is lost: {place}"
    );
}

fn check_log(events: &[(Seq, Event)], place: &str) {
    let mut results: HashMap<&str, usize> = HashMap::new();
    let mut messages = 0;
    for (index, (seq, event)) in events.iter().enumerate() {
        assert_eq!(seq.0, index as u64, "{place}");
        match &event.body {
            EventBody::Message(_) if event.source == Source::User => messages += 1,
            EventBody::Action(action) => assert_eq!(results.insert(&action.tool_call_id, 0), None, "{place}"),
            EventBody::Observation(result) => *results.get_mut(result.tool_call_id.as_str()).unwrap() += 1,
            EventBody::AgentError(result) => *results.get_mut(result.tool_call_id.as_str()).unwrap() += 1,
            _ => {}
        }
    }
    assert_eq!(messages, 1, "{place}");
    assert!(results.values().all(|count| *count == 1), "{place}: {results:?}");
}

/// The executor survives, so nothing is lost: each effect is there exactly once.
fn check_effects(case: &Path, events: &[(Seq, Event)], place: &str) {
    assert_eq!(
        fs::read_to_string(case.join("work/effects")).unwrap(),
        "one\ntwo\n",
        "{place}"
    );
    assert_eq!(
        fs::read_to_string(case.join("work/new")).unwrap(),
        "three\n",
        "{place}"
    );
    let observed = events
        .iter()
        .filter(|(_, event)| matches!(event.body, EventBody::Observation(_)))
        .count();
    assert_eq!(observed, 5, "{place}");
}
