//! What an append to the log costs, beside what a sync of this disk costs.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{anyhow, ensure};
use deft_store::{Durability, Lease, NewConversation, Options, Owner, SqliteStore, Store, StoreError};
use deft_types::{ConversationId, Event, EventId, Message, MessageEvent, Role, Seq, Source, Timestamp};
use futures::future::try_join_all;
use serde_json::Value;
use uuid::Uuid;

use crate::place::{Place, runtime};
use crate::report::{Figure, Goal, Section, Unit};
use crate::times::Times;

/// Events of a batch.
const BATCH: usize = 100;
/// Events of a conversation that is read.
const LONG: usize = 1500;

pub(crate) fn measure(_: &Path) -> anyhow::Result<Section> {
    let place = Place::new()?;
    let runtime = runtime()?;
    let append = |durability, conversations, appends, batch| {
        let load = Load {
            durability,
            conversations,
            appends,
            batch,
        };
        runtime.block_on(load.run(&place))
    };
    let one = append(Durability::Process, 1, 2000, 1)?.times;
    let many = append(Durability::Process, 16, 1000, 1)?.times;
    // Disks have moods: each is measured beside the disk as it is just then.
    let disk_for_one = fdatasync(&place, 1)?.percentile(50);
    let one_synced = append(Durability::Fsync, 1, 300, 1)?.times;
    let disk_for_many = fdatasync(&place, 16)?.percentile(50);
    let many_synced = append(Durability::Fsync, 16, 300, 1)?.times;
    let batches = append(Durability::Fsync, 16, 50, BATCH)?;
    let read = runtime.block_on(read(&place))?;

    let milliseconds = |what, time, goal| Figure::new(what, time, Unit::Milliseconds, goal);
    Ok(Section {
        title: "Append",
        method: "Events of about a kilobyte, in a SQLite store of its own for each line; from asking until the append \
                 is committed. With 16 conversations each waits for its own appends only. The disk's own time is that \
                 of appending 4 KiB to a file and `fdatasync`, just before: by one thread for one conversation, by 16 \
                 threads with a file each for 16, which explains more; the goal is on the first. An append writes three pages and more, and its own work is about \
                 0.1 ms: where a sync takes no longer than that, this shows.",
        figures: vec![
            milliseconds("append, one conversation, p50", one.percentile(50), Goal::None),
            milliseconds(
                "append, 16 conversations at once, p50",
                many.percentile(50),
                Goal::AtMost(0.5),
            ),
            milliseconds(
                "append, 16 conversations at once, p99",
                many.percentile(99),
                Goal::None,
            ),
            milliseconds(
                "`fdatasync` of this disk, one writer, p50",
                disk_for_one,
                Goal::None,
            ),
            milliseconds(
                "append with `fsync`, one conversation, p50",
                one_synced.percentile(50),
                Goal::None,
            ),
            milliseconds(
                "`fdatasync` of this disk, 16 writers at once, p50",
                disk_for_many,
                Goal::None,
            ),
            milliseconds(
                "append with `fsync`, 16 conversations at once, p50 (goal: 1.5 `fdatasync`s)",
                many_synced.percentile(50),
                Goal::AtMost(1.5 * disk_for_one),
            ),
            Figure::new(
                "append with `fsync`, 16 conversations at once, in batches of 100",
                batches.events_per_second,
                Unit::EventsPerSecond,
                Goal::AtLeast(20_000.0),
            ),
            milliseconds(
                "read a conversation of 1,500 events, p50",
                read.percentile(50),
                Goal::None,
            ),
        ],
    })
}

/// What a store is asked to take.
struct Load {
    durability: Durability,
    /// At once.
    conversations: usize,
    /// Of each conversation, one after the other.
    appends: usize,
    /// Events of each append.
    batch: usize,
}

struct Taken {
    times: Times,
    events_per_second: f64,
}

impl Load {
    async fn run(&self, place: &Place) -> anyhow::Result<Taken> {
        let options = Options {
            durability: self.durability,
            ..Options::default()
        };
        let store = SqliteStore::open(place.path(&Uuid::new_v4().to_string()), options)?;
        let leases = try_join_all((0..self.conversations).map(|_| begin(&store))).await?;
        let begun = Instant::now();
        let writes = leases
            .iter()
            .map(|lease| write(&store, lease, self.appends, self.batch));
        let times = try_join_all(writes).await?.concat();
        #[allow(clippy::cast_precision_loss)] // there are far fewer than 2^52
        let events = (times.len() * self.batch) as f64;
        Ok(Taken {
            events_per_second: events / begun.elapsed().as_secs_f64(),
            times: Times::new(times),
        })
    }
}

/// What the machine itself takes to append and sync, with so many writers at once.
fn fdatasync(place: &Place, writers: usize) -> anyhow::Result<Times> {
    let times: anyhow::Result<Vec<Vec<Duration>>> = thread::scope(|scope| {
        let writers: Vec<_> = (0..writers)
            .map(|writer| {
                let path = place.path(&format!("disk-{writer}"));
                scope.spawn(move || append_and_sync(&path))
            })
            .collect();
        writers
            .into_iter()
            .map(|writer| writer.join().map_err(|_| anyhow!("a writer broke off"))?)
            .collect()
    });
    times.map(|times| Times::new(times.concat()))
}

fn append_and_sync(path: &Path) -> anyhow::Result<Vec<Duration>> {
    let mut file = File::create(path)?;
    let mut times = Vec::new();
    for _ in 0..300 {
        let begun = Instant::now();
        file.write_all(&[7; 4096])?;
        file.sync_data()?;
        times.push(begun.elapsed());
    }
    Ok(times)
}

/// How fast a conversation of ordinary length is back in memory.
async fn read(place: &Place) -> anyhow::Result<Times> {
    let store = SqliteStore::open(place.path("read"), Options::default())?;
    let lease = begin(&store).await?;
    write(&store, &lease, LONG / BATCH, BATCH).await?;
    let mut times = Vec::new();
    for _ in 0..50 {
        let begun = Instant::now();
        let events = store.read(lease.conversation(), Seq::FIRST, 2 * LONG).await?;
        times.push(begun.elapsed());
        ensure!(events.len() == LONG, "{} events came back", events.len());
    }
    Ok(Times::new(times))
}

async fn begin(store: &SqliteStore) -> Result<Lease, StoreError> {
    let id = ConversationId(Uuid::new_v4());
    store
        .create(NewConversation {
            id,
            created_at: SystemTime::now(),
            workspace: "/somewhere".to_owned(),
            settings: Value::Null,
        })
        .await?;
    store.acquire(id, &Owner::this_process()).await
}

async fn write(
    store: &SqliteStore,
    lease: &Lease,
    appends: usize,
    batch: usize,
) -> Result<Vec<Duration>, StoreError> {
    let mut times = Vec::with_capacity(appends);
    for _ in 0..appends {
        let events = std::iter::repeat_with(event).take(batch).collect();
        let begun = Instant::now();
        store.append(lease, events).await?;
        times.push(begun.elapsed());
    }
    Ok(times)
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
