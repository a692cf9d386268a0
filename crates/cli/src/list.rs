//! `deft list`: the conversations on this machine.

use std::io::Write;

use serde_json::json;

use crate::args::Listing;
use crate::compose;
use crate::exit::Exit;
use crate::output::conversation_table;
use crate::settings::{Settings, Surroundings};

/// Conversations read at once.
const PAGE: usize = 200;

pub(crate) async fn list(args: &Listing) -> anyhow::Result<Exit> {
    let surroundings = Surroundings::of_this_process()?;
    let settings = Settings::load(&args.flags, &surroundings, &surroundings.current_dir)?;
    let store = compose::open_store(&settings)?;
    let mut records = Vec::new();
    while let page = store.list(records.last().map(ConversationRecord::cursor), PAGE).await?
        && !page.is_empty()
    {
        records.extend(page);
    }
    let mut out = anstream::AutoStream::auto(std::io::stdout()).lock();
    if args.json {
        for record in &records {
            writeln!(out, "{}", as_json(record))?;
        }
    } else {
        let width = terminal_size();
        write!(out, "{}", conversation_table(&records, SystemTime::now(), width))?;
    }
    Ok(Exit::Finished)
}

fn as_json(record: &ConversationRecord) -> Value {
    json!({
        "id": record.id,
        "title": record.title,
        "status": record.status,
        "cost": record.cost,
        "workspace": record.workspace,
        "created_at": seconds(record.created_at),
        "updated_at": seconds(record.updated_at),
        "last_seq": record.last_seq,
    })
}
