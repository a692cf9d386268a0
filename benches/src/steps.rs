//! What the engine adds to a step, and whether it adds more as the conversation grows.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use anyhow::ensure;
use deft_engine::{
    Conversation, ExecutorFate, Extensions, Limits, Memory, Outfit, Parts, Point, RealWorld, Safety,
    Supervision, World,
};
use deft_store::{NewConversation, Options, Owner, SqliteStore, Store};
use deft_tools::{ToolContext, Toolbox};
use deft_types::{ConversationId, EventId, Message, Role, Status};
use uuid::Uuid;

use crate::caller::Caller;
use crate::place::{Place, runtime};
use crate::report::{Figure, Goal, Section, Unit};
use crate::times::Times;

/// Steps of a run; the model finishes with one more.
const STEPS: usize = 500;
/// How many of them are the first, and how many the last.
const END: usize = 100;
const RUNS: usize = 15;

pub(crate) fn measure(deft: &Path) -> anyhow::Result<Section> {
    let mut all = Vec::new();
    let mut ratios = Vec::new();
    for _ in 0..RUNS {
        let steps = runtime()?.block_on(run(deft))?;
        // The first one starts the executor.
        ratios.push(median(&steps[STEPS - END..]) / median(&steps[1..=END]));
        all.extend_from_slice(&steps[1..]);
    }
    ratios.sort_by(f64::total_cmp);
    let times = Times::new(all);
    let (p50, p99, ratio) = (times.percentile(50), times.percentile(99), ratios[RUNS / 2]);
    Ok(Section {
        title: "Steps",
        method: "A model that answers at once calls the terminal 500 times with one `echo`: engine, SQLite store with the default \
                 durability, executor and shell as in `deft run`. Overhead is the time from one model call to the \
                 next, less the time from handing the call to the executor's connection until its result is back, \
                 which is the figure above. The step that starts the executor is not counted. Fifteen runs; the growth \
                 is the median of the last 100 steps over that of the first 100, the median of the runs.",
        figures: vec![
            Figure::new(
                "overhead of a step, p50",
                p50,
                Unit::Milliseconds,
                Goal::AtMost(2.0),
            ),
            Figure::new("overhead of a step, p99", p99, Unit::Milliseconds, Goal::None),
            Figure::new(
                "overhead of steps 401–500 over that of the first 100",
                ratio,
                Unit::Times,
                Goal::AtMost(1.2),
            ),
        ],
    })
}

fn median(steps: &[Duration]) -> f64 {
    Times::new(steps.to_vec()).percentile(50)
}

/// Runs it to its end. Gives the overhead of each step.
async fn run(deft: &Path) -> anyhow::Result<Vec<Duration>> {
    let place = Place::new()?;
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(place.path("deft.db"), Options::default())?);
    let id = ConversationId(Uuid::new_v4());
    let workspace = place.workspace(deft);
    let directory = workspace.root.display().to_string();
    store
        .create(NewConversation {
            id,
            created_at: SystemTime::now(),
            workspace: directory.clone(),
            settings: serde_json::Value::Null,
            owner: None,
        })
        .await?;
    let context = ToolContext {
        workspace: workspace.root.clone(),
        private_dir: workspace.directory.clone(),
        env: Vec::new(),
    };
    let stopwatch = Arc::new(Stopwatch::default());
    let conversation = Conversation::open(Parts {
        lease: store.acquire(id, &Owner::this_process()).await?,
        store,
        model: Arc::new(Caller::new(
            "terminal",
            |n| format!(r#"{{"command": "echo {n}"}}"#),
            STEPS,
        )),
        model_name: "caller".to_owned(),
        models: None,
        agents: None,
        workspace: Arc::new(workspace),
        directory,
        tools: Toolbox::standard(context)?.specs(),
        host: Toolbox::host(),
        responses: BTreeMap::new(),
        world: stopwatch.clone(),
        limits: Limits {
            max_steps: u32::MAX,
            parallel_calls: 8,
            stuck_detection: false, // the same command again and again is the point
            ..Limits::default()
        },
        safety: Safety::default(),
        memory: Memory::default(),
        outfit: Outfit::default(),
        extensions: Extensions::default(),
        supervision: Supervision::default(),
        external: None,
    })
    .await?;
    conversation
        .send(EventId::from(Uuid::new_v4()), Message::text(Role::User, "Go."))
        .await?;
    conversation.run().await?;
    let progress = conversation.settled().await;
    conversation.close(ExecutorFate::End).await;
    ensure!(
        progress.status == Status::Finished,
        "the run did not finish: {progress:?}"
    );
    let steps = stopwatch.overheads();
    ensure!(steps.len() == STEPS, "the run had {} steps", steps.len());
    Ok(steps)
}

/// Notes when each step begins, when its call is on its way and when the result is there.
#[derive(Default)]
struct Stopwatch(Mutex<Vec<Instant>>);

impl Stopwatch {
    fn overheads(&self) -> Vec<Duration> {
        let marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let step_and_next = marks.array_windows().step_by(3);
        step_and_next
            .map(|[begun, sent, result, next]| (*sent - *begun) + (*next - *result))
            .collect()
    }
}

impl World for Stopwatch {
    fn now(&self) -> SystemTime {
        RealWorld.now()
    }

    fn new_id(&self) -> Uuid {
        RealWorld.new_id()
    }

    fn reached(&self, point: Point) {
        if matches!(
            point,
            Point::BeforeModelCall | Point::AfterToolCallSent | Point::AfterToolResult
        ) {
            self.0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(Instant::now());
        }
    }
}
