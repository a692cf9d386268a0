//! What a server costs that has many conversations, and how fast it answers.

pub(crate) mod beside;
mod served;
mod wire;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, ensure};
use deft_store::{Options, Owner, SqliteStore, Store};
use deft_types::{ConversationId, Event, Message, MessageEvent, Role, Seq, Source, Timestamp};
use futures::future::{join_all, try_join_all};
use serde_json::json;
use uuid::Uuid;

use self::served::Served;
use self::wire::{Connection, Socket};
use crate::place::{Place, runtime};
use crate::report::{Figure, Goal, Section, Unit};
use crate::times::Times;

const CONVERSATIONS: usize = 1000;
/// Events of each, and of the one that is long.
const EVENTS: usize = 100;
const LONG: usize = 100_000;
const STARTS: usize = 20;
const PAGES: usize = 200;
/// Conversations that run at once.
const RUNNING: usize = 500;
const WATCHERS: usize = 1000;
const MESSAGES: usize = 20;
const MISSED: u64 = 1000;
const RECONNECTS: usize = 20;
/// Connections that ask `/alive`, and for how long.
const CALLERS: usize = 64;
const CALLING: Duration = Duration::from_secs(3);
/// How long everything that runs may take.
const RUN_LIMIT: Duration = Duration::from_secs(120);

/// 20 steps, each a reply after 50 ms.
const SCRIPT: &str = r#"
- repeat: 19
  delay_ms: 50
  usage: {prompt: 1000, completion: 20}
  tool_calls: [{name: think, arguments: {thought: "{{n}}"}}]
- delay_ms: 50
  usage: {prompt: 1000, completion: 20}
  text: Done.
"#;

pub(crate) fn measure(deft: &Path) -> anyhow::Result<Section> {
    let place = Place::new()?;
    let bench = Bench::new(deft, &place)?;
    let figures = runtime()?.block_on(bench.run())?;
    Ok(Section {
        title: "Server",
        method: "`deft serve` in a process of its own, asked by a client of ours on the same cores. Ready: from starting \
                 the process until `/ready` is answered, with 1,000 conversations of 100 events each in the store; \
                 the median of 20. Memory is `VmRSS`. Touched: each of the 1,000 is described and its events are read. \
                 Running: 500 conversations with a scripted model that takes 50 ms for each of 20 steps, in which it \
                 only thinks; `/health` is asked all the while. Search: pages from the middle of 100,000 events. \
                 Sockets: from sending a message until each of 1,000 sockets has it, with one more that never reads. \
                 Reconnect: a socket that asks for the last 1,000 events, until it has them and the state. `/alive`: 64 \
                 connections, each asking again when it has its answer.",
        figures,
    })
}

/// What is measured with.
struct Bench<'a> {
    deft: &'a Path,
    data: PathBuf,
    work: PathBuf,
    model: String,
}

impl<'a> Bench<'a> {
    fn new(deft: &'a Path, place: &Place) -> anyhow::Result<Self> {
        fs::write(place.path("script.yaml"), SCRIPT)?;
        Ok(Self {
            deft,
            data: place.path("data"),
            work: place.work(),
            model: format!("script:{}", place.path("script.yaml").display()),
        })
    }

    async fn run(&self) -> anyhow::Result<Vec<Figure>> {
        let (ids, create) = self.create().await?;
        let long = self.fill(&ids).await?;
        let ready = self.ready().await?;
        let served = self.serve()?;
        let idle = served.memory()?;
        touch(served.address, &ids[..CONVERSATIONS]).await?;
        let touched = served.memory()?;
        let page = search(served.address, long).await?;
        let reconnect = reconnect(served.address, long).await?;
        drop(served);
        let served = self.serve()?;
        let (health, running) = self.run_many(&served, &ids[..RUNNING]).await?;
        drop(served);
        let served = self.serve()?;
        let told = watch(served.address, ids[0]).await?;
        let alive = call(served.address).await?;
        let (ms, mb) = (Unit::Milliseconds, Unit::Megabytes);
        Ok(vec![
            Figure::new(
                "start until `/ready` answers, 1,000 conversations, p50",
                ready,
                ms,
                Goal::AtMost(50.0),
            ),
            Figure::new("idle memory of the server", idle, mb, Goal::AtMost(25.0)),
            Figure::new(
                "the same, 1,000 conversations of 100 events touched",
                touched,
                mb,
                Goal::AtMost(80.0),
            ),
            Figure::new(
                "500 conversations running: `/health`, p99",
                health,
                ms,
                Goal::AtMost(50.0),
            ),
            Figure::new(
                "500 conversations running: memory",
                running,
                mb,
                Goal::AtMost(400.0),
            ),
            Figure::new("create a conversation, p50", create, ms, Goal::AtMost(3.0)),
            Figure::new(
                "`events/search`, 100 of 100,000, p50",
                page,
                ms,
                Goal::AtMost(5.0),
            ),
            Figure::new(
                "a message until 1,000 sockets have it, p99",
                told,
                ms,
                Goal::AtMost(50.0),
            ),
            Figure::new(
                "reconnect, 1,000 events missed, p50",
                reconnect,
                ms,
                Goal::AtMost(20.0),
            ),
            Figure::new("`/alive`", alive, Unit::PerSecond, Goal::AtLeast(40_000.0)),
        ])
    }

    fn serve(&self) -> anyhow::Result<Served> {
        Served::deft(self.deft, &self.data, &self.work)
    }

    /// Makes all conversations, and the long one behind them; how long one takes.
    async fn create(&self) -> anyhow::Result<(Vec<ConversationId>, f64)> {
        let served = self.serve()?;
        create(served.address, &self.model, &self.work, CONVERSATIONS + 1).await
    }

    /// Gives them their events, while no server runs.
    async fn fill(&self, ids: &[ConversationId]) -> anyhow::Result<ConversationId> {
        let store = SqliteStore::open(self.data.join("deft.db"), Options::default())?;
        let (long, others) = ids.split_last().context("there are no conversations")?;
        for id in others {
            fill(&store, *id, EVENTS).await?;
        }
        fill(&store, *long, LONG).await?;
        Ok(*long)
    }

    async fn ready(&self) -> anyhow::Result<f64> {
        let mut times = Vec::with_capacity(STARTS);
        for _ in 0..STARTS {
            let begun = Instant::now();
            let served = self.serve()?;
            Connection::open(served.address)
                .await?
                .json("GET", "/ready", None)
                .await?;
            times.push(begun.elapsed());
        }
        Ok(Times::new(times).percentile(50))
    }

    /// Runs conversations at once; how long `/health` takes meanwhile, and the memory at the end.
    async fn run_many(&self, served: &Served, ids: &[ConversationId]) -> anyhow::Result<(f64, f64)> {
        let message = json!({"role": "user", "content": [{"type": "text", "text": "Go."}], "run": true});
        let start = |id: &ConversationId| {
            let path = format!("/api/conversations/{id}/events");
            let message = &message;
            async move {
                let mut connection = Connection::open(served.address).await?;
                connection.json("POST", &path, Some(message)).await
            }
        };
        let mut times = Vec::new();
        let mut memory: f64 = 0.0;
        let watching = async {
            let mut connection = Connection::open(served.address).await?;
            let begun = Instant::now();
            loop {
                let asked = Instant::now();
                connection.json("GET", "/health", None).await?;
                times.push(asked.elapsed());
                memory = memory.max(served.memory()?);
                let finished = connection.json("GET", "/api/conversations/count?status=finished", None);
                let finished = finished.await?;
                if finished == ids.len() {
                    return anyhow::Ok(());
                }
                ensure!(
                    begun.elapsed() < RUN_LIMIT,
                    "only {finished} of {} conversations finished",
                    ids.len()
                );
            }
        };
        let starting = try_join_all(ids.iter().map(start));
        tokio::try_join!(starting, watching)?;
        Ok((Times::new(times).percentile(99), memory))
    }
}

async fn create(
    address: SocketAddr,
    model: &str,
    work: &Path,
    count: usize,
) -> anyhow::Result<(Vec<ConversationId>, f64)> {
    let request = json!({
        "agent": {"kind": "Agent", "llm": {"model": model, "api_key": "k", "usage_id": "agent"}, "tools": []},
        "workspace": {"kind": "LocalWorkspace", "working_dir": work},
    });
    let mut connection = Connection::open(address).await?;
    let (mut ids, mut times) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let begun = Instant::now();
        let info = connection
            .json("POST", "/api/conversations", Some(&request))
            .await?;
        times.push(begun.elapsed());
        ids.push(info["id"].as_str().unwrap_or_default().parse()?);
    }
    Ok((ids, Times::new(times).percentile(50)))
}

async fn fill(store: &SqliteStore, id: ConversationId, count: usize) -> anyhow::Result<()> {
    const BATCH: usize = 1000;
    let lease = store.acquire(id, &Owner::this_process()).await?;
    let text = "x".repeat(800);
    let mut left = count;
    while left > 0 {
        let event = |_| Event {
            id: Uuid::now_v7().into(),
            timestamp: Timestamp::at(SystemTime::now()),
            source: Source::Agent,
            parent_id: None,
            body: MessageEvent::new(Message::text(Role::Assistant, &text)).into(),
        };
        let batch = left.min(BATCH);
        store.append(&lease, (0..batch).map(event).collect()).await?;
        left -= batch;
    }
    Ok(store.release(lease).await?)
}

async fn touch(address: SocketAddr, ids: &[ConversationId]) -> anyhow::Result<()> {
    let mut connection = Connection::open(address).await?;
    for id in ids {
        let path = format!("/api/conversations/{id}");
        connection.json("GET", &path, None).await?;
        let page = connection
            .json("GET", &format!("{path}/events/search?limit=100"), None)
            .await?;
        ensure!(
            page["items"].as_array().map(Vec::len) == Some(EVENTS),
            "events are missing"
        );
    }
    Ok(())
}

async fn search(address: SocketAddr, id: ConversationId) -> anyhow::Result<f64> {
    let mut connection = Connection::open(address).await?;
    let middle = LONG / 2;
    let history = format!("/api/conversations/{id}/history?limit=1&before_seq={middle}");
    let found = connection.json("GET", &history, None).await?;
    let first = found["items"][0]["event"]["id"]
        .as_str()
        .context("there is no event")?;
    let path = format!("/api/conversations/{id}/events/search?limit=100&page_id={first}");
    turn_pages(&mut connection, &path).await
}

/// How long it takes to get a page, as a rule.
async fn turn_pages(connection: &mut Connection, path: &str) -> anyhow::Result<f64> {
    let mut times = Vec::with_capacity(PAGES);
    for _ in 0..PAGES {
        let begun = Instant::now();
        connection.json("GET", path, None).await?;
        times.push(begun.elapsed());
    }
    Ok(Times::new(times).percentile(50))
}

async fn reconnect(address: SocketAddr, id: ConversationId) -> anyhow::Result<f64> {
    let last = LONG as u64 - 1;
    let path = format!("/sockets/session/{id}?after_seq={}", last - MISSED);
    let mut times = Vec::with_capacity(RECONNECTS);
    for _ in 0..RECONNECTS {
        let begun = Instant::now();
        let mut socket = Connection::open(address).await?.watch(&path).await?;
        socket.until(&format!("\"seq\":{}", Seq(last))).await?;
        socket.until("\"transient\"").await?;
        times.push(begun.elapsed());
    }
    Ok(Times::new(times).percentile(50))
}

/// How long it takes until all who watch have a message, though one of them never reads.
async fn watch(address: SocketAddr, id: ConversationId) -> anyhow::Result<f64> {
    let path = format!("/sockets/events/{id}");
    let open = async || Connection::open(address).await?.watch(&path).await;
    let _stalled = open().await?;
    let mut sockets: Vec<Socket> = Vec::with_capacity(WATCHERS);
    for _ in 0..WATCHERS {
        let mut socket = open().await?;
        socket.until("full_state").await?;
        sockets.push(socket);
    }
    let mut connection = Connection::open(address).await?;
    let mut times = Vec::with_capacity(MESSAGES * WATCHERS);
    for number in 0..MESSAGES {
        let mark = format!("message number {number}.");
        let message = json!({"role": "user", "content": [{"type": "text", "text": mark}], "run": false});
        let begun = Instant::now();
        let hear = |socket: Socket| {
            let mark = &mark;
            async move {
                let mut socket = socket;
                socket.until(mark).await?;
                anyhow::Ok((socket, begun.elapsed()))
            }
        };
        let hearing = join_all(sockets.drain(..).map(hear));
        let path = format!("/api/conversations/{id}/events");
        let (heard, sent) = tokio::join!(hearing, connection.json("POST", &path, Some(&message)));
        sent?;
        for heard in heard {
            let (socket, time) = heard?;
            times.push(time);
            sockets.push(socket);
        }
    }
    Ok(Times::new(times).percentile(99))
}

/// How many answers come in a second.
async fn call(address: SocketAddr) -> anyhow::Result<f64> {
    let begun = Instant::now();
    let caller = |_| async move {
        let mut connection = Connection::open(address).await?;
        let mut answers = 0_u32;
        while begun.elapsed() < CALLING {
            let (status, _) = connection.ask("GET", "/alive", None).await?;
            ensure!(status == 200, "/alive was answered with {status}");
            answers += 1;
        }
        Ok(answers)
    };
    let answers: u32 = try_join_all((0..CALLERS).map(caller)).await?.into_iter().sum();
    Ok(f64::from(answers) / begun.elapsed().as_secs_f64())
}
