//! `deft import`: takes in conversations that other programs have kept in folders.

use std::io::Write;
use std::path::Path;

use deft_engine::{RealWorld, World};
use deft_store::{NewConversation, OldLog, Store, create_with, old_logs_at};
use deft_types::ConversationId;
use deft_workspace::WorkspaceName;
use uuid::Uuid;

use crate::args::Import;
use crate::compose;
use crate::exit::Exit;
use crate::output::{one_line, one_sentence};
use crate::settings::{Settings, Surroundings};
use crate::workspace;

pub(crate) async fn import(args: &Import) -> anyhow::Result<Exit> {
    let surroundings = Surroundings::of_this_process()?;
    let here = surroundings.current_dir.clone();
    let settings = Settings::load(&args.flags, &surroundings, &here)?;
    let name = args.workspace.clone().unwrap_or(WorkspaceName::Sandbox(here));
    let kept = workspace::kept(&workspace::resolve(name)?);
    let store = compose::open_store(&settings)?;
    let mut out = std::io::stdout().lock();
    let mut exit = Exit::Finished;
    for folder in old_logs_at(&args.path)? {
        let said = match take_in(store.as_ref(), &folder, &kept).await {
            Ok(said) => said,
            Err(error) => {
                exit = Exit::Failed;
                format!("not imported: {}", one_sentence(&error))
            }
        };
        writeln!(out, "{}", one_line(&format!("{}: {said}", folder.display())))?;
    }
    Ok(exit)
}

/// Takes in one of them; says what came of it.
async fn take_in(store: &dyn Store, folder: &Path, workspace: &str) -> anyhow::Result<String> {
    let log = OldLog::read(folder)?;
    let id = log.id.unwrap_or_else(|| ConversationId(Uuid::new_v4()));
    if store.conversation(id).await?.is_some() {
        return Ok(format!("{id} is there already"));
    }
    let count = log.events.len();
    let new = NewConversation {
        id,
        created_at: log.began.unwrap_or_else(|| RealWorld.now()),
        workspace: workspace.to_owned(),
        settings: serde_json::Value::Null,
        owner: None,
    };
    create_with(store, new, log.events).await?;
    Ok(format!("imported as {id}, {count} events"))
}
