//! What the engine itself can do: many conversations at once, long ones, and those that do nothing.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, ensure};
use deft_engine::{
    Conversation, ExecutorFate, Extensions, Limits, Memory, Outfit, Parts, Point, RealWorld, Safety,
    Supervision, World, load,
};
use deft_store::{NewConversation, Options, Owner, SqliteStore, Store};
use deft_tools::{ToolContext, Toolbox};
use deft_types::{ConversationId, EventId, Message, Role, Seq, Status, ToolSpec};
use futures::future::try_join_all;
use uuid::Uuid;

use crate::caller::Caller;
use crate::machine::kibibytes;
use crate::place::{Place, runtime};
use crate::report::{Figure, Goal, Section, Unit};
use crate::times::{Times, mean};

/// Conversations that run at the same time.
const CONVERSATIONS: usize = 64;
/// Steps of each of them.
const STEPS: usize = 200;
/// Events of a long conversation, and of one step.
const LONG: usize = 10_000;
const EVENTS_A_STEP: usize = 3;
/// Rounds in which a young conversation and the long one take turns, and the steps of a turn.
const ROUNDS: usize = 40;
const TURN: usize = 10;
/// Conversations that are loaded and do nothing.
const IDLE: usize = 256;
/// How often they are loaded and unloaded before it counts, and then.
const SETTLING: usize = 30;
const UNLOADED: usize = 30;
/// Events of a page.
const PAGE: u64 = 50;

pub(crate) fn measure(deft: &Path) -> anyhow::Result<Section> {
    let place = Place::new()?;
    let speed = runtime()?.block_on(many(&place, deft))?;
    let (growth, opening, folding) = runtime()?.block_on(long(&place, deft))?;
    let (loaded, unloaded) = runtime()?.block_on(idle(&place, deft))?;
    Ok(Section {
        title: "Engine",
        method: "A model that answers at once calls `think`, which returns at once; SQLite store with the default \
                 durability, one thread for the engine as in `deft`. 64 conversations of 200 steps; the median of five \
                 rounds. One conversation of 10,000 events: the time from one model call to the next. It takes turns of \
                 ten steps around event 10,000 with new ones around event 100, forty each; the median of its steps over \
                 that of theirs. Opening it: a store opened \
                 anew, the conversation's line in the index, and its last 50 events. Memory: how much more this process \
                 holds with 256 conversations of six events loaded, each with the tools of `deft run`; and how much more \
                 each time that they are loaded and unloaded, over thirty times after thirty first ones.",
        figures: vec![
            Figure::new(
                "steps of 64 conversations at once",
                speed,
                Unit::StepsPerSecond,
                Goal::AtLeast(5_000.0),
            ),
            Figure::new(
                "a step at event 10,000 over one at event 100",
                growth,
                Unit::Times,
                Goal::AtMost(1.2),
            ),
            Figure::new(
                "opening a conversation of 10,000 events to its status and last page, p50",
                opening,
                Unit::Milliseconds,
                Goal::AtMost(15.0),
            ),
            Figure::new(
                "folding it to go on with it, mean",
                folding,
                Unit::Milliseconds,
                Goal::None,
            ),
            Figure::new(
                "a loaded conversation that does nothing",
                loaded,
                Unit::Kilobytes,
                Goal::AtMost(200.0),
            ),
            Figure::new("an unloaded one", unloaded, Unit::Kilobytes, Goal::AtMost(1.0)),
        ],
    })
}

/// Steps a second over all conversations.
async fn many(place: &Place, deft: &Path) -> anyhow::Result<f64> {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(place.path("many.db"), Options::default())?);
    let tools = tools(place)?;
    let mut times = Vec::new();
    for _ in 0..5 {
        let world: Arc<dyn World> = Arc::new(RealWorld);
        let opened = (0..CONVERSATIONS).map(|_| begin(&store, place, deft, &tools, STEPS, world.clone()));
        let conversations = try_join_all(opened).await?;
        let begun = Instant::now();
        let runs = conversations.iter().map(run);
        try_join_all(runs).await?;
        times.push(begun.elapsed());
    }
    let took = Times::new(times).percentile(50) / 1e3;
    #[allow(clippy::cast_precision_loss)] // a small number
    Ok((CONVERSATIONS * STEPS) as f64 / took)
}

/// How much longer late steps take than early ones; and how long it takes to look at the conversation, and to fold it.
async fn long(place: &Place, deft: &Path) -> anyhow::Result<(f64, f64, f64)> {
    let file = place.path("long.db");
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&file, Options::default())?);
    let tools = tools(place)?;
    // It stands at event 10,000 in the middle of the rounds.
    let old = Stepper::begin(
        &store,
        place,
        deft,
        &tools,
        LONG / EVENTS_A_STEP - ROUNDS * TURN / 2,
    )
    .await?;
    // What else the machine does meanwhile slows both alike.
    let (mut early, mut late) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let young = Stepper::begin(&store, place, deft, &tools, 100 / EVENTS_A_STEP).await?;
        early.extend(young.turn().await?);
        young.conversation.close(ExecutorFate::End).await;
        late.extend(old.turn().await?);
    }
    let growth = Times::new(late).percentile(50) / Times::new(early).percentile(50);
    let id = old.conversation.id();
    old.conversation.close(ExecutorFate::End).await;
    drop((store, old));

    let (mut opened, mut folded) = (Vec::new(), Vec::new());
    for _ in 0..20 {
        let begun = Instant::now();
        let store = SqliteStore::open(&file, Options::default())?;
        let record = store
            .conversation(id)
            .await?
            .context("the conversation is gone")?;
        let last = record.last_seq.context("the conversation is empty")?;
        let page = store
            .read(id, Seq(last.0 + 1 - PAGE), usize::try_from(PAGE)?)
            .await?;
        opened.push(begun.elapsed());
        ensure!(
            record.status == Status::Finished && last.0 > LONG as u64 - 100,
            "{record:?}"
        );
        ensure!(page.len() as u64 == PAGE, "{} events came back", page.len());
        let begun = Instant::now();
        load(&store, id).await?;
        folded.push(begun.elapsed());
    }
    Ok((growth, Times::new(opened).percentile(50), mean(&folded)))
}

/// Kilobytes of a conversation that is loaded, and of one that was.
async fn idle(place: &Place, deft: &Path) -> anyhow::Result<(f64, f64)> {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(place.path("idle.db"), Options::default())?);
    let tools = tools(place)?;
    let mut ids = Vec::new();
    for _ in 0..IDLE {
        let conversation = begin(&store, place, deft, &tools, 1, Arc::new(RealWorld)).await?;
        run(&conversation).await?;
        conversation.close(ExecutorFate::Keep).await;
        ids.push(conversation.id());
    }
    let before = resident()?;
    let loaded = load_all(&store, place, deft, &tools, &ids).await?;
    let with_all = resident()?;
    unload(loaded).await;
    let again = async |times: usize| {
        for _ in 0..times {
            unload(load_all(&store, place, deft, &tools, &ids).await?).await;
        }
        resident()
    };
    let settled = again(SETTLING).await?; // the allocator has what it keeps for the next time
    let left = again(UNLOADED).await?;
    #[allow(clippy::cast_precision_loss)] // small numbers
    let each = |more: u64, times: usize| more as f64 * 1.024 / (IDLE * times) as f64;
    Ok((
        each(with_all.saturating_sub(before), 1),
        each(left.saturating_sub(settled), UNLOADED),
    ))
}

async fn load_all(
    store: &Arc<dyn Store>,
    place: &Place,
    deft: &Path,
    tools: &[ToolSpec],
    ids: &[ConversationId],
) -> anyhow::Result<Vec<Conversation>> {
    let mut loaded = Vec::with_capacity(ids.len());
    for id in ids {
        loaded.push(
            open(
                store,
                place,
                deft,
                tools,
                *id,
                Arc::new(thinker(1)),
                Arc::new(RealWorld),
            )
            .await?,
        );
    }
    Ok(loaded)
}

async fn unload(conversations: Vec<Conversation>) {
    for conversation in conversations {
        conversation.close(ExecutorFate::Keep).await;
    }
}

/// Kibibytes that this process holds.
fn resident() -> anyhow::Result<u64> {
    kibibytes("/proc/self/status", "VmRSS").context("the memory of this process cannot be read")
}

/// The tools of `deft run`, as the model is offered them.
fn tools(place: &Place) -> anyhow::Result<Vec<ToolSpec>> {
    let context = ToolContext {
        workspace: place.work(),
        private_dir: place.path("private"),
        env: Vec::new(),
    };
    Ok(Toolbox::standard(context)?.specs())
}

/// A conversation that goes on by turns of a few steps, whose times are taken.
struct Stepper {
    conversation: Conversation,
    model: Arc<Caller>,
    stopwatch: Arc<Stopwatch>,
}

impl Stepper {
    /// One that has had so many steps.
    async fn begin(
        store: &Arc<dyn Store>,
        place: &Place,
        deft: &Path,
        tools: &[ToolSpec],
        steps: usize,
    ) -> anyhow::Result<Self> {
        let (model, stopwatch) = (Arc::new(thinker(steps)), Arc::new(Stopwatch::default()));
        let id = create(store).await?;
        let conversation = open(store, place, deft, tools, id, model.clone(), stopwatch.clone()).await?;
        run(&conversation).await?;
        Ok(Self {
            conversation,
            model,
            stopwatch,
        })
    }

    /// The times of its next few steps.
    async fn turn(&self) -> anyhow::Result<Vec<Duration>> {
        self.stopwatch.marks().clear();
        self.model.call_again(TURN);
        run(&self.conversation).await?;
        let marks = self.stopwatch.marks();
        ensure!(marks.len() == TURN + 1, "a turn had {} model calls", marks.len());
        Ok(marks.array_windows().map(|[one, next]| *next - *one).collect())
    }
}

/// Thinks so many times, and then answers.
fn thinker(steps: usize) -> Caller {
    Caller::new(
        "think",
        |_| r#"{"thought": "One thing after the other."}"#.to_owned(),
        steps,
    )
}

async fn begin(
    store: &Arc<dyn Store>,
    place: &Place,
    deft: &Path,
    tools: &[ToolSpec],
    steps: usize,
    world: Arc<dyn World>,
) -> anyhow::Result<Conversation> {
    let id = create(store).await?;
    open(store, place, deft, tools, id, Arc::new(thinker(steps)), world).await
}

async fn create(store: &Arc<dyn Store>) -> anyhow::Result<ConversationId> {
    let id = ConversationId(Uuid::new_v4());
    store
        .create(NewConversation {
            id,
            created_at: SystemTime::now(),
            workspace: String::new(),
            settings: serde_json::Value::Null,
            owner: None,
        })
        .await?;
    Ok(id)
}

async fn open(
    store: &Arc<dyn Store>,
    place: &Place,
    deft: &Path,
    tools: &[ToolSpec],
    id: ConversationId,
    model: Arc<Caller>,
    world: Arc<dyn World>,
) -> anyhow::Result<Conversation> {
    let opened = Conversation::open(Parts {
        lease: store.acquire(id, &Owner::this_process()).await?,
        store: store.clone(),
        model,
        model_name: "thinker".to_owned(),
        models: None,
        agents: None,
        workspace: Arc::new(place.workspace(deft)), // which nobody needs
        directory: place.work().display().to_string(),
        tools: tools.to_vec(),
        host: Toolbox::host(),
        responses: BTreeMap::new(),
        world,
        limits: Limits {
            max_steps: u32::MAX,
            parallel_calls: 8,
            stuck_detection: false, // the same thought again and again is the point
            ..Limits::default()
        },
        safety: Safety::default(),
        memory: Memory::default(),
        outfit: Outfit::default(),
        extensions: Extensions::default(),
        supervision: Supervision::default(),
        external: None,
    });
    Ok(opened.await?)
}

async fn run(conversation: &Conversation) -> anyhow::Result<()> {
    conversation
        .send(EventId::from(Uuid::new_v4()), Message::text(Role::User, "Go."))
        .await?;
    conversation.run().await?;
    let progress = conversation.settled().await;
    ensure!(
        progress.status == Status::Finished,
        "the run did not finish: {progress:?}"
    );
    Ok(())
}

/// Notes when each step begins.
#[derive(Default)]
struct Stopwatch(Mutex<Vec<Instant>>);

impl Stopwatch {
    fn marks(&self) -> MutexGuard<'_, Vec<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        if point == Point::BeforeModelCall {
            self.marks().push(Instant::now());
        }
    }
}
