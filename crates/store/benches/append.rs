//! What an append costs, beside what a sync of this disk costs. Prints one JSON object a line.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    missing_docs
)]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use deft_store::{Durability, Lease, NewConversation, Options, Owner, SqliteStore, Store};
use deft_types::{ConversationId, Event, EventId, Message, MessageEvent, Role, Seq, Source, Timestamp};
use futures::future::join_all;
use serde_json::{Value, json};
use uuid::Uuid;

const CONVERSATIONS: usize = 16;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let directory = directory.path();
    // Cargo adds `--bench`; a word picks the benches with it in their names.
    let filter: Vec<_> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    for (name, durability, conversations, appends, events) in [
        ("append_process_1", Durability::Process, 1, 2000, 1),
        ("append_process_16", Durability::Process, CONVERSATIONS, 1000, 1),
        ("batches_process_16", Durability::Process, CONVERSATIONS, 50, 100),
        ("append_fsync_1", Durability::Fsync, 1, 200, 1),
        ("append_fsync_16", Durability::Fsync, CONVERSATIONS, 200, 1),
        ("batches_fsync_16", Durability::Fsync, CONVERSATIONS, 50, 100),
    ] {
        if !filter.is_empty() && !filter.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        let fdatasync = disk(directory);
        let options = Options {
            durability,
            ..Options::default()
        };
        let path = directory.join(name);
        let run = async move {
            let store = Arc::new(SqliteStore::open(path, options).unwrap());
            let leases = join_all((0..conversations).map(|_| begin(&store))).await;
            let started = Instant::now();
            let writers = leases.into_iter().map(|lease| {
                let store = Arc::clone(&store);
                tokio::spawn(async move { write(&store, &lease, appends, events).await })
            });
            let times: Result<Vec<_>, _> = join_all(writers.collect::<Vec<_>>()).await.into_iter().collect();
            (times.unwrap().concat(), started.elapsed().as_secs_f64())
        };
        let (times, elapsed) = runtime.block_on(run);
        let mut report = quantiles(name, times);
        report["events_per_s"] = json!(((conversations * appends * events) as f64 / elapsed).round());
        if durability == Durability::Fsync {
            let p50 = report["p50_ms"].as_f64().unwrap();
            report["p50_in_fdatasyncs"] = json!(rounded(p50 / fdatasync));
        }
        println!("{report}");
    }
    runtime.block_on(read(directory));
}

/// The machine's own append and sync. Gives the median in milliseconds.
fn disk(directory: &Path) -> f64 {
    let mut file = File::create(directory.join("disk")).unwrap();
    let times = (0..200).map(|_| {
        let started = Instant::now();
        file.write_all(&[7; 4096]).unwrap();
        file.sync_data().unwrap();
        started.elapsed()
    });
    let report = quantiles("disk_append_fdatasync", times.collect());
    println!("{report}");
    report["p50_ms"].as_f64().unwrap()
}

/// How fast a conversation of ordinary length is back in memory.
async fn read(directory: &Path) {
    let store = SqliteStore::open(directory.join("read"), Options::default()).unwrap();
    let lease = begin(&store).await;
    write(&store, &lease, 15, 100).await;
    let mut times = Vec::new();
    for _ in 0..50 {
        let started = Instant::now();
        assert_eq!(
            store
                .read(lease.conversation(), Seq::FIRST, 2000)
                .await
                .unwrap()
                .len(),
            1500
        );
        times.push(started.elapsed());
    }
    println!("{}", quantiles("read_1500_events", times));
}

async fn begin(store: &SqliteStore) -> Lease {
    let id = ConversationId(Uuid::new_v4());
    let (created_at, workspace) = (SystemTime::now(), "/somewhere".to_owned());
    store
        .create(NewConversation {
            id,
            created_at,
            workspace,
            settings: Value::Null,
        })
        .await
        .unwrap();
    store.acquire(id, &Owner::this_process()).await.unwrap()
}

async fn write(store: &SqliteStore, lease: &Lease, appends: usize, events: usize) -> Vec<Duration> {
    let mut times = Vec::with_capacity(appends);
    for _ in 0..appends {
        let events = (0..events).map(|_| event()).collect();
        let started = Instant::now();
        store.append(lease, events).await.unwrap();
        times.push(started.elapsed());
    }
    times
}

/// About a kilobyte, as most events are.
fn event() -> Event {
    Event {
        id: EventId::from(Uuid::new_v4()),
        timestamp: Timestamp("2026-11-15T01:14:49.212782".to_owned()),
        source: Source::Agent,
        parent_id: None,
        body: MessageEvent::new(Message::text(Role::Assistant, "A line of text. ".repeat(45))).into(),
    }
}

fn quantiles(name: &str, mut times: Vec<Duration>) -> Value {
    times.sort();
    let at = |share: usize| rounded(times[(times.len() - 1) * share / 100].as_secs_f64() * 1e3);
    json!({"bench": name, "p50_ms": at(50), "p95_ms": at(95), "p99_ms": at(99), "max_ms": at(100)})
}

fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}
