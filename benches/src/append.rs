//! What an append to the log costs, beside what a sync of this disk costs.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::ensure;
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
/// How often to sync, to see what that takes.
const SYNCS: usize = 300;
/// Pages that a commit of 16 appends writes.
const COMMIT_PAGES: usize = 11;
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
    let one_synced = append(Durability::Fsync, 1, 300, 1)?.times;
    let disk = fdatasync(&place)?.percentile(50);
    let commit = commit(&place)?.percentile(50);
    let many_synced = append(Durability::Fsync, 16, 300, 1)?.times;
    let batches = append(Durability::Fsync, 16, 50, BATCH)?;
    let read = runtime.block_on(read(&place))?;

    let milliseconds = |what, time, goal| Figure::new(what, time, Unit::Milliseconds, goal);
    Ok(Section {
        title: "Append",
        method: "Events of about a kilobyte, in a SQLite store of its own for each line; from asking until the append \
                 is committed. With 16 conversations each waits for its own appends only. The disk's own time is that \
                 of appending 4 KiB to a file and `fdatasync`, by one thread, just before. The goal is on that, and \
                 hard to meet where a sync takes no longer than other work. The line below it says what part of the \
                 append it is to write and sync what SQLite does: a commit of 16 appends has about eleven pages, each \
                 in two writes, over older ones. The rest is what an append costs without a sync, less the writes: to \
                 prepare 16 appends on one thread, to insert them, and to wake two threads.",
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
                "append with `fsync`, one conversation, p50",
                one_synced.percentile(50),
                Goal::None,
            ),
            milliseconds("`fdatasync` of this disk, p50", disk, Goal::None),
            milliseconds(
                "append with `fsync`, 16 conversations at once, p50 (goal: 1.5 `fdatasync`s)",
                many_synced.percentile(50),
                Goal::AtMost(1.5 * disk),
            ),
            milliseconds(
                "of which to write and sync the pages of 16 appends, p50",
                commit,
                Goal::None,
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
        let store = Arc::new(SqliteStore::open(
            place.path(&Uuid::new_v4().to_string()),
            options,
        )?);
        let leases = try_join_all((0..self.conversations).map(|_| begin(&store))).await?;
        let begun = Instant::now();
        // A task each, as conversations are.
        let writes = leases.into_iter().map(|lease| {
            let (store, appends, batch) = (store.clone(), self.appends, self.batch);
            tokio::spawn(async move { write(&store, &lease, appends, batch).await })
        });
        let times = try_join_all(writes)
            .await?
            .into_iter()
            .collect::<Result<Vec<_>, _>>()?
            .concat();
        #[allow(clippy::cast_precision_loss)] // there are far fewer than 2^52
        let events = (times.len() * self.batch) as f64;
        Ok(Taken {
            events_per_second: events / begun.elapsed().as_secs_f64(),
            times: Times::new(times),
        })
    }
}

/// What the machine itself takes to append and sync.
fn fdatasync(place: &Place) -> anyhow::Result<Times> {
    let mut file = File::create(place.path("disk"))?;
    synced(&mut file, |file| file.write_all(&[7; 4096]))
}

/// What the machine itself takes for a commit, written as SQLite writes it.
fn commit(place: &Place) -> anyhow::Result<Times> {
    let mut file = File::create(place.path("commit"))?;
    file.write_all(&vec![0; SYNCS * COMMIT_PAGES * (24 + 4096)])?;
    file.sync_all()?;
    file.rewind()?;
    synced(&mut file, |file| {
        for _ in 0..COMMIT_PAGES {
            file.write_all(&[7; 24])?;
            file.write_all(&[7; 4096])?;
        }
        Ok(())
    })
}

fn synced(file: &mut File, write: impl Fn(&mut File) -> io::Result<()>) -> anyhow::Result<Times> {
    let mut times = Vec::new();
    for _ in 0..SYNCS {
        let begun = Instant::now();
        write(file)?;
        file.sync_data()?;
        times.push(begun.elapsed());
    }
    Ok(Times::new(times))
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
            owner: None,
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
        id: EventId::from(Uuid::now_v7()), // as the engine makes them
        timestamp: Timestamp("2026-11-15T01:14:49.212782".to_owned()),
        source: Source::Agent,
        parent_id: None,
        body: MessageEvent::new(Message::text(Role::Assistant, "A line of text. ".repeat(45))).into(),
    }
}
