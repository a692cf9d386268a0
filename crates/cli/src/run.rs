//! `deft run`: a task from the command line to its end.

use std::io::Read;
use std::path::Path;

use anyhow::Context;
use deft_engine::{APPROVED, Goal, Mode, State};
use deft_store::ConversationRecord;
use deft_store::Store;
use deft_types::{McpServerStatus, Message, Role, Status};
use deft_workspace::WorkspaceName;

use crate::args::{Resume, Run, Task};
use crate::compose;
use crate::exit::{Exit, UsageError};
use crate::mcp;
use crate::output::{is_troubled, trouble};
use crate::screen::Format;
use crate::settings::{Settings, Surroundings};
use crate::traces;
use crate::watch::Watched;
use crate::workspace;

pub(crate) async fn run(args: Run) -> anyhow::Result<Exit> {
    let surroundings = Surroundings::of_this_process()?;
    let task = args.task.read()?;
    let here = surroundings.current_dir.clone();
    let mut name = args.workspace.clone();
    if name.is_none() {
        name = Settings::load(&args.flags, &surroundings, &here)?.workspace.value;
    }
    let name = name.unwrap_or_else(|| WorkspaceName::Sandbox(here.clone()));
    let mut settings = Settings::load(&args.flags, &surroundings, name.directory().unwrap_or(&here))?;
    let store = compose::open_store(&settings)?;

    let resumed = args.resume.find(store.as_ref()).await?;
    if let Some(record) = &resumed {
        if args.workspace.is_some() {
            let sentence = format!(
                "a conversation stays in its workspace ({}); leave out --workspace",
                record.workspace
            );
            return Err(UsageError(sentence).into());
        }
        // What the project says is said by the one that the conversation is about.
        let name: WorkspaceName = record.workspace.parse()?;
        if let Some(gone) = local_directory(&name).filter(|place| !place.is_dir()) {
            anyhow::bail!(
                "the workspace {} of this conversation is not there any more; move it back to go on with it, or begin a \
                 new conversation where the files are now: deft run -w DIRECTORY -t TASK",
                gone.display()
            );
        }
        settings = Settings::load(&args.flags, &surroundings, name.directory().unwrap_or(&here))?;
    } else if task.is_none() {
        return Err(
            UsageError("there is nothing to do: give a task with -t TEXT, -f FILE or -".to_owned()).into(),
        );
    }

    let before = match &resumed {
        Some(record) => deft_engine::load(store.as_ref(), record.id).await?,
        None => State::default(),
    };
    let planned = before.mode;
    if args.approve && planned != Mode::Plan {
        let sentence =
            "there is no plan to approve: name a conversation that was begun with --plan by --resume";
        return Err(UsageError(sentence.to_owned()).into());
    }
    let mode = match (args.plan, args.approve) {
        (true, _) => Mode::Plan,
        (_, true) => Mode::Act,
        (false, false) => planned,
    };
    let task = match (args.approve, task) {
        (false, task) => task,
        (true, None) => Some(APPROVED.to_owned()),
        (true, Some(task)) => Some(format!("{APPROVED}\n\n{task}")),
    };
    if let (None, Some(record)) = (&task, &resumed)
        && (record.status == Status::Finished || record.last_seq.is_none())
    {
        let sentence = "the conversation waits for a task; give it one with -t TEXT, -f FILE or -";
        return Err(UsageError(sentence.to_owned()).into());
    }

    let model = compose::model_for(
        &settings,
        store.as_ref(),
        resumed.as_ref().map(|record| record.id),
    )
    .await?;
    let record = match resumed {
        Some(record) => record,
        None => compose::create(store.as_ref(), &workspace::resolve(name)?).await?,
    };
    warn_of_everything(&record.workspace.parse()?, surroundings.home.as_deref());
    compose::budget::keep(&mut settings, store.as_ref(), record.id).await?;
    let conversation = compose::open(&settings, store.clone(), model, &record, mode).await?;
    compose::confirm::keep(&settings, &conversation).await?;
    let format = if args.json { Format::Json } else { Format::Human };
    let goal = task
        .clone()
        .filter(|_| args.goal)
        .map(|task| Goal::new(task, args.rounds));
    let task = task.map(|task| Message::text(Role::User, task));
    let traces = traces::wanted(&settings, &surroundings)?;
    traces.iter().for_each(traces::begin);
    let exit = Watched {
        conversation: &conversation,
        store: store.as_ref(),
        record: &record,
        data_dir: &settings.data_dir.value,
        goal,
    }
    .run(task, format)
    .await?;
    if let Some(traces) = traces {
        traces.end().await;
    }
    let servers = mcp::offer::remember(&settings, store.as_ref(), record.id).await?;
    // Those that are as they were before this run are not among what it has shown.
    let untold = |server: &&McpServerStatus| format == Format::Json || before.servers.contains(server);
    tell(servers.iter().filter(untold));
    Ok(exit)
}

/// The directory of this machine that an agent works in itself.
fn local_directory(name: &WorkspaceName) -> Option<&Path> {
    match name {
        WorkspaceName::Local(path) | WorkspaceName::Sandbox(path) => Some(path),
        _ => None,
    }
}

/// Says on standard error that a workspace has much more in it than a project.
fn warn_of_everything(name: &WorkspaceName, home: Option<&Path>) {
    let Some(place) = local_directory(name) else {
        return;
    };
    let home = home.and_then(|home| home.canonicalize().ok());
    if place.parent().is_none() || home.as_deref() == Some(place) {
        anstream::eprintln!(
            "deft: note: the agent may change everything in {}; a project's own folder is meant: name it with -w",
            place.display()
        );
    }
}

/// Says on standard error which servers are in trouble.
fn tell<'a>(servers: impl Iterator<Item = &'a McpServerStatus>) {
    for server in servers.filter(|server| is_troubled(server)) {
        anstream::eprintln!("deft: note: {}", trouble(server));
    }
}

impl Task {
    /// The task's text, wherever it comes from.
    fn read(&self) -> anyhow::Result<Option<String>> {
        let text = if let Some(text) = &self.text {
            text.clone()
        } else if let Some(file) = &self.file {
            std::fs::read_to_string(file)
                .with_context(|| format!("cannot read the task from {}", file.display()))?
        } else if self.stdin.is_some() {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .context("cannot read the task from standard input")?;
            text
        } else {
            return Ok(None);
        };
        if text.trim().is_empty() {
            return Err(UsageError("the task is empty".to_owned()).into());
        }
        Ok(Some(text))
    }
}

impl Resume {
    /// The conversation to go on with, if one is named.
    async fn find(&self, store: &dyn Store) -> anyhow::Result<Option<ConversationRecord>> {
        if let Some(prefix) = &self.resume {
            return compose::find(store, prefix).await.map(Some);
        }
        if self.last {
            return compose::newest(store).await.map(Some);
        }
        Ok(None)
    }
}
