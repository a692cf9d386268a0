//! What belongs to a skill beside its text: the files of its folder, and addresses that it names.

use std::sync::Arc;

use deft_executor::Client;
use deft_skills::{Files, Origin, Skill};
use deft_types::{Action, MCPToolAction, Observation, ReadFileAction, text_of};
use serde_json::json;

use crate::observation::for_model;
use crate::workspace_call;

/// Characters of a file of the user's that are shown at once.
const MAX_SHOWN: usize = 30_000;

/// The user's own files, which the workspace does not have.
pub type SkillFiles = Arc<dyn Files + Send + Sync>;

/// What a skill holds at a place that it names, or why it is not shown.
pub(crate) async fn of_skill(
    skill: &Skill,
    place: &str,
    files: Option<&SkillFiles>,
    client: impl Future<Output = Result<Client, String>>,
) -> Result<String, String> {
    if skill.urls.iter().any(|url| url == place) {
        // Exactly what it names: nothing can be added to the address that would then leave the workspace with it.
        let action = MCPToolAction {
            data: [("url".to_owned(), json!(place))].into_iter().collect(),
            ..MCPToolAction::default()
        };
        return ask(&client.await?, "fetch", action.into()).await;
    }
    let is_inside =
        !place.starts_with('/') && !place.contains("://") && !place.split('/').any(|part| part == "..");
    let path = format!("{}/{place}", skill.folder());
    match (skill.origin, files) {
        (Origin::Project, _) if is_inside => {
            let action = ReadFileAction {
                file_path: path,
                ..ReadFileAction::default()
            };
            ask(&client.await?, "read_file", action.into()).await
        }
        (Origin::User, Some(files)) if skill.resources.iter().any(|file| file == place) => {
            let text = files
                .read(&path)
                .map_err(|error| format!("{place} cannot be read: {error}"))?;
            Ok(match text.char_indices().nth(MAX_SHOWN) {
                Some((end, _)) => format!(
                    "{}\n[Only the first {MAX_SHOWN} characters are shown.]",
                    &text[..end]
                ),
                None => text,
            })
        }
        (Origin::Project | Origin::User | Origin::Client, _) => Err(format!(
            "The skill has no '{place}'. It has: {}.",
            [skill.resources.as_slice(), &skill.urls].concat().join(", ")
        )),
    }
}

/// A tool of the executor, with its own limits and checks.
async fn ask(client: &Client, tool: &str, action: Action) -> Result<String, String> {
    let observation: Observation = workspace_call::run(client, tool, action).await?;
    let text = text_of(&for_model(&observation));
    if observation.is_error() {
        Err(text)
    } else {
        Ok(text)
    }
}
