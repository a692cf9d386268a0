//! The same of the server whose protocol ours speaks, where this machine can have it, and how many times better ours is.

use std::path::{Path, PathBuf};
use std::time::Instant;

use deft_types::ConversationId;
use serde_json::json;

use super::served::Served;
use super::wire::Connection;
use super::{Bench, call, create, turn_pages};
use crate::place::{Place, runtime};
use crate::report::{Figure, Goal, Section, Unit};

/// Conversations that are made.
const CREATED: usize = 100;
/// Messages of the conversation whose events are searched.
const EVENTS: usize = 300;
/// The variable that names a Python which has the server.
const PYTHON: &str = "DEFT_REFERENCE_PYTHON";

/// What is measured of each.
struct Taken {
    ready: f64,
    idle: f64,
    create: f64,
    search: f64,
    alive: f64,
}

pub(crate) fn measure(deft: &Path) -> anyhow::Result<Section> {
    let place = Place::new()?;
    let bench = Bench::new(deft, &place)?;
    Ok(Section {
        title: "Beside the reference server",
        method: "The OpenHands agent server 1.58.0, where Python 3.12 or newer is found, and then ours: both with an empty \
                 store, asked by the same client. Ready: from starting the process, for the second time, until `/ready` is answered. Memory is \
                 `VmRSS`. Create: 100 conversations. Search: the first page of 100 of a conversation that was sent 300 \
                 messages. `/alive`: 64 connections, each asking again when it has its answer. A ratio says how many times \
                 better ours is.",
        figures: runtime()?.block_on(both(&bench))?,
    })
}

/// Measures both, one after the other.
async fn both(bench: &Bench<'_>) -> anyhow::Result<Vec<Figure>> {
    let python = std::env::var_os(PYTHON).filter(|python| !python.is_empty());
    let Some(python) = python.map(PathBuf::from) else {
        println!(
            "the reference server is left out: it needs Python 3.12 or newer and a registry of Python packages"
        );
        return Ok(Vec::new());
    };
    drop(Served::reference(&python, &bench.work).await?); // the first start compiles it
    let begun = Instant::now();
    let served = Served::reference(&python, &bench.work).await?;
    let theirs = take(bench, served, begun, "openai/gpt-4o").await?;
    let begun = Instant::now();
    let served = Served::deft(bench.deft, &bench.data.with_file_name("beside"), &bench.work)?;
    Connection::open(served.address)
        .await?
        .json("GET", "/ready", None)
        .await?;
    let ours = take(bench, served, begun, &bench.model).await?;
    let (ms, mb, rate) = (Unit::Milliseconds, Unit::Megabytes, Unit::PerSecond);
    let row = |names: [&'static str; 2], measured: f64, unit: Unit, ratio: f64| {
        let [theirs, times] = names;
        [
            Figure::new(theirs, measured, unit, Goal::None),
            Figure::new(times, ratio, Unit::Times, Goal::None),
        ]
    };
    let rows = [
        row(
            [
                "reference server: start until `/ready` answers, no conversations",
                "ours starts faster",
            ],
            theirs.ready,
            ms,
            theirs.ready / ours.ready,
        ),
        row(
            ["reference server: idle memory", "ours is smaller"],
            theirs.idle,
            mb,
            theirs.idle / ours.idle,
        ),
        row(
            [
                "reference server: create a conversation, p50",
                "ours creates it faster",
            ],
            theirs.create,
            ms,
            theirs.create / ours.create,
        ),
        row(
            [
                "reference server: `events/search`, 100 of 300, p50",
                "ours finds them faster",
            ],
            theirs.search,
            ms,
            theirs.search / ours.search,
        ),
        row(
            ["reference server: `/alive`", "ours answers more often"],
            theirs.alive,
            rate,
            ours.alive / theirs.alive,
        ),
    ];
    Ok(rows.into_iter().flatten().collect())
}

/// Everything of one server that was started at that moment and answers.
async fn take(bench: &Bench<'_>, served: Served, begun: Instant, model: &str) -> anyhow::Result<Taken> {
    let ready = begun.elapsed().as_secs_f64() * 1e3;
    let idle = served.memory()?;
    let (ids, create) = create(served.address, model, &bench.work, CREATED).await?;
    Ok(Taken {
        ready,
        idle,
        create,
        search: search(&served, ids[0]).await?,
        alive: call(served.address).await?,
    })
}

async fn search(served: &Served, id: ConversationId) -> anyhow::Result<f64> {
    let mut connection = Connection::open(served.address).await?;
    let message =
        json!({"role": "user", "content": [{"type": "text", "text": "x".repeat(800)}], "run": false});
    for _ in 0..EVENTS {
        let path = format!("/api/conversations/{id}/events");
        connection.json("POST", &path, Some(&message)).await?;
    }
    let path = format!("/api/conversations/{id}/events/search?limit=100");
    turn_pages(&mut connection, &path).await
}
