//! `deft rewind`: a conversation, its files, or both go back to an earlier event.

use std::io::Write;

use anyhow::{Context, bail};
use deft_engine::{ExecutorFate, Rewind};
use deft_store::Store;
use deft_tools::Overwrite;
use deft_types::{ConversationId, EventId, Seq};

use crate::args::Rewind as Args;
use crate::compose;
use crate::exit::Exit;
use crate::output::one_line;
use crate::settings::{Settings, Surroundings};

/// Events read at once in search of one.
const PAGE: usize = 500;

pub(crate) async fn rewind(args: &Args) -> anyhow::Result<Exit> {
    let surroundings = Surroundings::of_this_process()?;
    let settings = Settings::load(&args.flags, &surroundings, &surroundings.current_dir)?;
    let store = compose::open_store(&settings)?;
    let record = compose::find(store.as_ref(), &args.id).await?;
    let to = event(store.as_ref(), record.id, &args.event).await?;
    let model = compose::model_for(&settings, store.as_ref(), Some(record.id)).await?;
    let mode = deft_engine::load(store.as_ref(), record.id).await?.mode;
    let conversation = compose::open(&settings, store, model, &record, mode).await?;
    let what = match (args.files, args.conversation) {
        (true, false) => Rewind::Files,
        (false, true) => Rewind::Conversation,
        (true, true) | (false, false) => Rewind::Both,
    };
    let overwrite = if args.force {
        Overwrite::Allow
    } else {
        Overwrite::Refuse
    };
    let rewound = conversation.rewind(to, what, overwrite).await;
    conversation.close(ExecutorFate::End).await;
    let mut out = anstream::AutoStream::auto(std::io::stdout()).lock();
    let mut exit = Exit::Finished;
    match (what, rewound?) {
        (Rewind::Conversation, _) => {}
        (_, None) => {
            writeln!(out, "The files have not changed since, as far as was recorded.")?;
        }
        (_, Some(restored)) => {
            for failure in &restored.failed {
                let (path, reason) = (one_line(&failure.path), one_line(&failure.reason));
                writeln!(out, "failed   {path}: {reason}")?;
                exit = Exit::Failed;
            }
            writeln!(
                out,
                "The files are back. To undo it: deft restore {} {}",
                args.id, restored.undo
            )?;
        }
    }
    if what != Rewind::Files {
        writeln!(
            out,
            "What is said next follows that event: deft run --resume {} -t …",
            args.id
        )?;
    }
    Ok(exit)
}

/// The event of a number, as `deft show` has it, or of an id.
async fn event(store: &dyn Store, id: ConversationId, named: &str) -> anyhow::Result<EventId> {
    if let Ok(number) = named.parse::<u64>() {
        let found = store.read(id, Seq(number), 1).await?;
        let (_, event) = found.into_iter().next().with_context(|| {
            format!("the conversation has no event {number}; `deft show` shows them with their numbers")
        })?;
        return Ok(event.id);
    }
    let mut from = Seq::FIRST;
    loop {
        let page = store.read(id, from, PAGE).await?;
        let Some((last, _)) = page.last() else {
            bail!("the conversation has no event '{named}'; `deft show` shows them with their numbers");
        };
        from = last.next();
        if let Some((_, event)) = page.into_iter().find(|(_, event)| event.id.0.starts_with(named)) {
            return Ok(event.id);
        }
    }
}
