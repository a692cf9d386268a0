//! `deft list`: the conversations on this machine.

use std::io::Write;
use std::time::SystemTime;

use deft_store::{ConversationRecord, Owner, Store};
use deft_types::{Status, Timestamp};
use serde_json::{Value, json};

use crate::args::Listing;
use crate::compose;
use crate::exit::Exit;
use crate::output::{ConversationRow, Style, conversation_table, json_line};
use crate::settings::{Settings, Surroundings};

/// Conversations read at once.
const PAGE: usize = 200;

pub(crate) async fn list(args: &Listing) -> anyhow::Result<Exit> {
    let surroundings = Surroundings::of_this_process()?;
    let settings = Settings::load(&args.flags, &surroundings, &surroundings.current_dir)?;
    let store = compose::open_store(&settings)?;
    let mut records = Vec::new();
    while let page = store
        .list(records.last().map(ConversationRecord::cursor), PAGE)
        .await?
        && !page.is_empty()
    {
        records.extend(page);
    }
    for record in &mut records {
        if was_left(store.as_ref(), record).await? {
            record.status = Status::Paused;
        }
    }
    let mut out = anstream::AutoStream::auto(std::io::stdout()).lock();
    if args.json {
        for record in &records {
            writeln!(out, "{}", json_line(&as_json(record))?)?;
        }
    } else {
        records.sort_by_key(|record| std::cmp::Reverse(record.updated_at));
        let mut rows = Vec::new();
        for record in records {
            // Tasks that agents gave are parts of the conversations that are listed.
            if !compose::has_parent(store.as_ref(), record.id).await? {
                rows.push(row(record, SystemTime::now()));
            }
        }
        write!(
            out,
            "{}",
            conversation_table(&rows, columns(), &Style::coloured())
        )?;
    }
    Ok(Exit::Finished)
}

/// Whether it seems to run, and the process that ran it is gone: whoever opens it finds it paused.
pub(crate) async fn was_left(store: &dyn Store, record: &ConversationRecord) -> anyhow::Result<bool> {
    let runs = record.status == Status::Running;
    Ok(runs && !store.is_held(record.id, &Owner::this_process()).await?)
}

fn row(record: ConversationRecord, now: SystemTime) -> ConversationRow {
    ConversationRow {
        id: record.id,
        status: record.status,
        age: now.duration_since(record.updated_at).unwrap_or_default(),
        cost: record.cost,
        title: record.title.unwrap_or_default(),
    }
}

/// How wide the terminal is, if it is one.
fn columns() -> Option<usize> {
    rustix::termios::tcgetwinsize(std::io::stdout())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|width| *width > 0)
}

fn as_json(record: &ConversationRecord) -> Value {
    json!({
        "id": record.id,
        "title": record.title,
        "status": record.status,
        "cost": record.cost,
        "workspace": record.workspace,
        "created_at": Timestamp::at(record.created_at),
        "updated_at": Timestamp::at(record.updated_at),
        "last_seq": record.last_seq,
    })
}
