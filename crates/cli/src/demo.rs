//! `deft demo`: a model that needs no key repairs a small project, through the real engine, executor, shell
//! and store.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use deft_engine::Mode;
use deft_types::{Message, Role};
use deft_workspace::WorkspaceName;

use crate::args::Plain;
use crate::compose;
use crate::exit::Exit;
use crate::screen::Format;
use crate::settings::{Settings, Surroundings};
use crate::watch::Watched;
use crate::workspace;

/// What the demo model is asked for.
pub(crate) const TASK: &str =
    "The test of this project fails. Find out why, repair it, and show that the test passes.";

const PROJECT: [(&str, &str); 3] = [
    ("README.md", include_str!("demo/project/README.md")),
    ("greet.sh", include_str!("demo/project/greet.sh")),
    ("test.sh", include_str!("demo/project/test.sh")),
];

pub(crate) async fn demo(args: &Plain) -> anyhow::Result<Exit> {
    let workspace = new_project()?;
    let surroundings = Surroundings::of_this_process()?;
    let settings = Settings::load(&args.flags, &surroundings, &workspace)?;
    let store = compose::open_store(&settings)?;
    let model = compose::open_model("demo", &settings)?;
    let name = workspace::resolve(WorkspaceName::Sandbox(workspace))?;
    let record = compose::create(store.as_ref(), &name).await?;
    let conversation = compose::open(&settings, store.clone(), model, &record, Mode::Act).await?;
    let task = Message::text(Role::User, TASK);
    Watched {
        conversation: &conversation,
        store: store.as_ref(),
        record: &record,
        data_dir: &settings.data_dir.value,
        goal: None,
    }
    .run(Some(task), Format::Human)
    .await
}

/// Makes the project with its bug, in a directory of its own.
pub(crate) fn new_project() -> anyhow::Result<PathBuf> {
    let directory = tempfile::Builder::new()
        .prefix("deft-demo-")
        .tempdir()
        .context("cannot make a directory for the demo")?;
    // Kept for whoever wants to look at the result or go on; the system clears it away some day.
    let directory = directory.keep();
    PROJECT
        .iter()
        .try_for_each(|(name, text)| fs::write(directory.join(name), text))
        .context("cannot write the demo's project")?;
    Ok(directory)
}
