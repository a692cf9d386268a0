//! `deft checkpoints` and `deft restore`: the way back to what the workspace was before a turn.

use std::io::Write;
use std::sync::Arc;

use anyhow::Context;
use deft_executor::Client;
use deft_store::{Lease, Owner, StoreError};
use deft_tools::{Change, CheckpointId, Effect, NotKept, Overwrite};
use deft_workspace::Workspace;

use crate::args::{Checkpoints, Restore};
use crate::compose;
use crate::exit::Exit;
use crate::output::{json_line, one_line};
use crate::settings::{Flags, Settings, Surroundings};
use crate::workspace;

/// Changes that are shown; of more only the number is told.
const MAX_SHOWN: usize = 100;

/// Prints the checkpoints of a conversation's workspace.
pub(crate) async fn checkpoints(args: &Checkpoints) -> anyhow::Result<Exit> {
    let reached = Reached::reach(&args.flags, &args.id).await?;
    let checkpoints = reached.client.checkpoints().await;
    reached.leave().await;
    let checkpoints = checkpoints?;
    let mut out = anstream::AutoStream::auto(std::io::stdout()).lock();
    for checkpoint in &checkpoints {
        if args.json {
            writeln!(out, "{}", json_line(checkpoint)?)?;
        } else {
            let taken_at = checkpoint
                .taken_at
                .0
                .get(..19)
                .unwrap_or_default()
                .replace('T', " ");
            writeln!(
                out,
                "{:>4}  {taken_at}  {}",
                checkpoint.id,
                one_line(&checkpoint.label)
            )?;
        }
    }
    if checkpoints.is_empty() && !args.json {
        writeln!(
            out,
            "No checkpoint yet: one is taken before the first change of a turn."
        )?;
    }
    Ok(Exit::Finished)
}

/// Shows what going back changes, then does it.
pub(crate) async fn restore(args: &Restore) -> anyhow::Result<Exit> {
    let mut reached = Reached::reach(&args.flags, &args.id).await?;
    let restored = go_back(&mut reached, args).await;
    reached.leave().await;
    restored
}

async fn go_back(reached: &mut Reached, args: &Restore) -> anyhow::Result<Exit> {
    let id = CheckpointId(args.checkpoint);
    let changes = reached.client.preview(id).await?;
    let mut out = anstream::AutoStream::auto(std::io::stdout()).lock();
    for change in changes.iter().take(MAX_SHOWN) {
        writeln!(out, "{}", line(change))?;
    }
    match changes.len() {
        0 => writeln!(out, "Nothing has changed since checkpoint {id}.")?,
        1..=MAX_SHOWN => {}
        all => writeln!(out, "… and {} more", all - MAX_SHOWN)?,
    }
    if args.dry_run || changes.is_empty() {
        return Ok(Exit::Finished);
    }
    // An agent at work would go on as if nothing had happened.
    if let Some(error) = reached.at_work.take() {
        return Err(error).context("the conversation is at work; stop it before you restore");
    }
    let overwrite = if args.force {
        Overwrite::Allow
    } else {
        Overwrite::Refuse
    };
    let restored = reached.client.restore(id, overwrite).await?;
    for failure in &restored.failed {
        writeln!(
            out,
            "failed   {}: {}",
            one_line(&failure.path),
            one_line(&failure.reason)
        )?;
    }
    writeln!(
        out,
        "Restored checkpoint {id}. To undo it: deft restore {} {}",
        args.id, restored.undo
    )?;
    Ok(if restored.failed.is_empty() {
        Exit::Finished
    } else {
        Exit::Failed
    })
}

/// A conversation's executor. It is started if it does not run, and ended by whoever started it.
struct Reached {
    client: Client,
    workspace: Arc<dyn Workspace>,
    /// Keeps others from beginning to work with an executor that is about to end.
    lease: Option<Lease>,
    /// Why there is no lease.
    at_work: Option<StoreError>,
    is_ours: bool,
}

impl Reached {
    async fn reach(flags: &Flags, id: &str) -> anyhow::Result<Self> {
        let surroundings = Surroundings::of_this_process()?;
        let settings = Settings::load(flags, &surroundings, &surroundings.current_dir)?;
        let store = compose::open_store(&settings)?;
        let record = compose::find(store.as_ref(), id).await?;
        let workspace = workspace::open(&record.workspace, &settings, record.id)?.workspace;
        let (lease, at_work) = match store.acquire(record.id, &Owner::this_process()).await {
            Ok(lease) => (Some(lease), None),
            Err(error) => (None, Some(error)),
        };
        let found = workspace.find().await;
        let is_ours = found.is_none() && lease.is_some();
        let stream = match found {
            Some(stream) => stream,
            None => workspace.open().await?,
        };
        Ok(Self {
            client: Client::connect(stream).await?,
            workspace,
            lease,
            at_work,
            is_ours,
        })
    }

    async fn leave(self) {
        if self.is_ours {
            workspace::end(self.workspace.as_ref(), &self.client).await;
        }
        drop(self.lease); // now another may start one
    }
}

/// A change in one line, the sizes where they say something.
fn line(change: &Change) -> String {
    let what = match change.effect {
        Effect::Create => "create",
        Effect::Modify => "modify",
        Effect::Delete => "delete",
        Effect::Leave(_) => "leave",
    };
    let sizes = match (change.now, change.then) {
        (Some(now), Some(then)) if now != then => format!(" ({now} → {then} bytes)"),
        (Some(size), _) | (None, Some(size)) => format!(" ({size} bytes)"),
        (None, None) => String::new(),
    };
    let note = match change.effect {
        Effect::Leave(why) => format!(": {}, so there is no copy of it", reason(why)),
        Effect::Create | Effect::Modify | Effect::Delete if change.edited_since => {
            ": changed by somebody else meanwhile".to_owned()
        }
        Effect::Create | Effect::Modify | Effect::Delete => String::new(),
    };
    format!("{what:7}  {}{sizes}{note}", one_line(&change.path))
}

fn reason(why: NotKept) -> &'static str {
    match why {
        NotKept::Ignored => "ignored",
        NotKept::TooLarge => "too large",
        NotKept::NoRoom => "too much for one checkpoint",
        NotKept::Unreadable => "unreadable",
        NotKept::Special => "no file",
        NotKept::Mounted => "another file system",
    }
}
