//! Conversations that other programs have kept in folders: agent servers of OpenHands, and the application before them.
//!
//! Both have a folder `events` with one file an event. Those of an agent server are ours already; the application's
//! (`v0`) are turned into ours, each call with its one result. What stands in other files of the folder (`beside`)
//! becomes events at the end.

mod beside;
mod v0;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

use deft_types::{
    ConversationId, ConversationStateUpdateEvent, Event, EventId, Extra, Message, MessageEvent, Role, Source,
    Status, Timestamp,
};
use serde_json::{Value, json};

use self::beside::Beside;
use crate::fold::Derived;

/// Conversations of one folder that are looked at.
const MAX_LOGS: usize = 100_000;

/// Why a folder cannot be read as a conversation.
#[derive(Debug, thiserror::Error)]
pub enum OldLogError {
    /// The folder or a file in it cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// What was to be read.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is something else.
    #[error(
        "{} holds no conversation: one has a folder `events` with a JSON file for each event",
        .0.display()
    )]
    Empty(PathBuf),
}

/// A conversation of another program.
#[derive(Clone, Debug)]
pub struct OldLog {
    /// The id that its folder is named by, or that is kept in it.
    pub id: Option<ConversationId>,
    /// When it began, as its first event says.
    pub began: Option<SystemTime>,
    /// Its events, as ours.
    pub events: Vec<Event>,
}

impl OldLog {
    /// Reads a conversation's folder. An event that cannot be read is a message that says so.
    pub fn read(folder: &Path) -> Result<Self, OldLogError> {
        let files = paths_in(&folder.join("events"))?;
        let mut old: BTreeMap<u64, Value> = BTreeMap::new();
        for page in paths_in(&folder.join("event_cache")).unwrap_or_default() {
            // Twenty-five events at a time, for those whose own file is lost.
            let events = parsed(&page)
                .ok()
                .and_then(|page| page.as_array().cloned())
                .unwrap_or_default();
            old.extend(
                events
                    .into_iter()
                    .filter_map(|event| Some((event["id"].as_u64()?, event))),
            );
        }
        let mut events = Vec::new();
        for file in files {
            let stem = file
                .file_stem()
                .and_then(|stem| stem.to_str())
                .unwrap_or_default();
            let read = parsed(&file);
            if let Ok(number) = stem.parse::<u64>() {
                match read {
                    Ok(event) => drop(old.insert(number, event)),
                    Err(reason) => {
                        old.entry(number).or_insert_with(|| v0::unreadable(&reason));
                    }
                }
            } else if stem.starts_with("event-") {
                let event = read.and_then(|event| {
                    serde_json::from_value(event).map_err(|error: serde_json::Error| error.to_string())
                });
                events.push(
                    event.unwrap_or_else(|reason| {
                        note(stem.to_owned(), Timestamp(String::new()), lost(&reason))
                    }),
                );
            }
        }
        events.extend(v0::events(&old));
        let mut ids = HashSet::new();
        events.retain(|event: &Event| ids.insert(event.id.clone()));
        let mut derived = Derived::default();
        for event in &events {
            derived.fold(event);
        }
        let (Some(first), Some(last)) = (events.first(), events.last()) else {
            return Err(OldLogError::Empty(folder.to_owned()));
        };
        let began = first.timestamp.moment();
        let beside = Beside::read(folder);
        let mut news = beside.news(&events, &derived);
        if derived.status == Some(Status::Running) {
            news.push(("execution_status", json!(Status::Idle))); // whoever ran it does so no more
        }
        let told_at = last.timestamp.clone();
        let news = news.into_iter().map(|(key, value)| told(&told_at, key, value));
        events.extend(news);
        let name = folder.file_name().and_then(|name| name.to_str());
        Ok(Self {
            id: name.and_then(|name| name.parse().ok()).or_else(|| beside.id()),
            began,
            events,
        })
    }
}

/// The folders of the conversations at a place: the folder itself, or those that lie in it.
pub fn old_logs_at(place: &Path) -> Result<Vec<PathBuf>, OldLogError> {
    if place.join("events").is_dir() {
        return Ok(vec![place.to_owned()]);
    }
    let mut inside = paths_in(place)?;
    inside.retain(|path| path.join("events").is_dir());
    inside.truncate(MAX_LOGS);
    if inside.is_empty() {
        return Err(OldLogError::Empty(place.to_owned()));
    }
    Ok(inside)
}

/// What is in a folder, by name.
fn paths_in(folder: &Path) -> Result<Vec<PathBuf>, OldLogError> {
    let failed = |source| OldLogError::Io {
        path: folder.to_owned(),
        source,
    };
    let entries = fs::read_dir(folder).map_err(failed)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths: Vec<_> = paths.collect::<Result<_, _>>().map_err(failed)?;
    paths.sort();
    Ok(paths)
}

fn parsed(file: &Path) -> Result<Value, String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

fn lost(reason: &str) -> String {
    format!("[An event of the other program could not be read: {reason}]")
}

/// News that no event of the other program tells.
fn told(timestamp: &Timestamp, key: &str, value: Value) -> Event {
    let update = ConversationStateUpdateEvent {
        key: key.to_owned(),
        value,
        extra: Extra::new(),
    };
    Event {
        id: EventId(format!("imported {key}")),
        timestamp: timestamp.clone(),
        source: Source::Environment,
        parent_id: None,
        body: update.into(),
    }
}

/// Something that is told, and that nobody in the conversation has said.
fn note(id: String, timestamp: Timestamp, text: String) -> Event {
    Event {
        id: EventId(id),
        timestamp,
        source: Source::Environment,
        parent_id: None,
        body: MessageEvent::new(Message::text(Role::User, text)).into(),
    }
}
