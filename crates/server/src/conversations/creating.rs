//! The beginning of a conversation.

use std::io;
use std::path::{Path, PathBuf};

use axum::http::StatusCode;
use deft_types::ConversationId;
use serde_json::Value;
use uuid::Uuid;

use super::Conversations;
use super::running::Claim;
use crate::failure::Failure;
use crate::new_directory;
use crate::request::StartRequest;
use crate::wanted::Wanted;

/// Whether a conversation was made for this request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Creation {
    New,
    Existing,
}

impl Conversations {
    /// Begins a conversation. The same id again changes nothing.
    pub(crate) async fn create(
        &self,
        mut request: StartRequest,
    ) -> Result<(ConversationId, Creation), Failure> {
        let id = request.id.unwrap_or_else(|| ConversationId(Uuid::new_v4()));
        let store = &self.catalog.store;
        if store.conversation(id).await?.is_some() {
            return Ok((id, Creation::Existing));
        }
        if let Some(parent) = request.parent
            && store.conversation(parent).await?.is_none()
        {
            return Err(Failure::refused(format!(
                "Parent conversation {parent} not found"
            )));
        }
        let root = match &request.place {
            Wanted::Directory(directory) => self.allowance.place(self.current_dir.join(directory))?,
            Wanted::Named(name) => {
                self.allowance.elsewhere()?;
                PathBuf::from(name.to_string())
            }
        };
        let turn = self.allowance.begin(&root).await?;
        self.check_servers(request.kept.get("agent").unwrap_or(&Value::Null))?;
        let place = match request.initial_message {
            Some(_) => {
                self.allowance.left().await?;
                Some(self.place_to_run()?) // nothing is stored where there is none
            }
            None => None,
        };
        let workspace = match request.place {
            Wanted::Directory(_) => {
                let make = match request.worktree {
                    Some(_) => new_directory::make_plain, // there would be nothing to copy
                    None => new_directory::make,
                };
                make_directory(&root, make).await?;
                let root = self.own_copy(id, root, &mut request).await?;
                root.display().to_string()
            }
            Wanted::Named(_) if request.worktree.is_some() => {
                return Err(Failure::refused(
                    "Only a directory of this machine can have a worktree",
                ));
            }
            Wanted::Named(name) => self.composition.resolve(name).map_err(Failure::refused)?,
        };
        let ready = || self.composition.ready(&workspace).unwrap_or(id);
        let id = match &request.worktree {
            Some(_) => id, // the copy was made for it
            None => request.id.unwrap_or_else(ready),
        };
        let created = self
            .catalog
            .create(id, workspace, &request.kept, &request.tags)
            .await;
        if created.is_err() && store.conversation(id).await?.is_some() {
            return Ok((id, Creation::Existing)); // another request was faster
        }
        if created.is_err() && request.worktree.is_some() {
            let _ = self.composition.remove(id, Path::new("/")).await; // nobody will use the copy
        }
        created?;
        drop(turn);
        if let (Some(message), Some(place)) = (request.initial_message, place) {
            let resident = self.resident(id).await?;
            self.store_message(&resident, Uuid::new_v4().into(), message)
                .await?;
            resident.begin_run(place);
            self.run_engine(&resident, Claim::Own).await?;
        }
        self.webhooks.notice(id).await;
        Ok((id, Creation::New))
    }
}

async fn make_directory(root: &Path, make: fn(&Path) -> io::Result<()>) -> Result<(), Failure> {
    let path = root.to_owned();
    let done = tokio::task::spawn_blocking(move || make(&path)).await;
    match done {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(Failure::new(
            StatusCode::BAD_REQUEST,
            format!("The working directory cannot be made: {error}"),
        )),
        Err(error) => Err(Failure::internal("the working directory cannot be made", &error)),
    }
}
