//! Tools by which an agent uses other models than the one it runs on.

mod ask_oracle;
mod inspect_image;
mod spending;
mod switch_model;

use std::sync::Arc;

use deft_llm::{Model, OpenModelError, Reply, Request};
use deft_tools::{Call, Tool, ToolError};
use deft_types::{Action, Message};

use self::ask_oracle::{AskOracle, ORACLE};
use self::inspect_image::InspectImage;
pub(crate) use self::inspect_image::{INSPECT_IMAGE, Images};
pub(crate) use self::spending::{ModelUse, Spending, used_by};
use self::switch_model::SwitchModel;
use crate::budget::Purse;
use crate::route_task::{RouteTask, Said, TaskRoutes};

/// Why nobody is asked when all is spent.
const NOTHING_LEFT: &str = "the budget is spent; go on without it, the user can add to it";

/// Models by the names that the user gave them.
pub trait Models: Send + Sync {
    /// The names.
    fn names(&self) -> Vec<String>;

    /// Opens one of them.
    fn open(&self, name: &str) -> Result<Arc<dyn Model>, OpenModelError>;

    /// How one of them is chosen for a task, where the agent may have that done.
    fn routes(&self) -> Option<TaskRoutes> {
        None
    }
}

/// The tools that make sense with these models, for an agent that runs on `model`.
pub(crate) fn offered(
    models: &Arc<dyn Models>,
    model: &dyn Model,
    spending: &Spending,
    purse: &Purse,
    (images, said): (&Images, &Said),
) -> Vec<Arc<dyn Tool>> {
    let names = models.names();
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    if !names.is_empty() {
        tools.push(Arc::new(SwitchModel {
            models: models.clone(),
        }));
    }
    if let Some(routes) = models.routes() {
        tools.push(Arc::new(RouteTask {
            models: models.clone(),
            routes,
            spending: spending.clone(),
            purse: purse.clone(),
            said: said.clone(),
        }));
    }
    if names.iter().any(|name| name == ORACLE) {
        tools.push(Arc::new(AskOracle {
            models: models.clone(),
            spending: spending.clone(),
            purse: purse.clone(),
        }));
    }
    if !model.profile().capabilities.vision {
        let sees = |name: &String| {
            models
                .open(name)
                .is_ok_and(|model| model.profile().capabilities.vision)
        };
        if let Some(eyes) = names.into_iter().find(sees) {
            tools.push(Arc::new(InspectImage {
                models: models.clone(),
                eyes,
                spending: spending.clone(),
                purse: purse.clone(),
                images: images.clone(),
            }));
        }
    }
    tools
}

/// Asks a model one thing, if there is something left to pay it with.
pub(crate) async fn ask(
    model: &Arc<dyn Model>,
    messages: Vec<Message>,
    call: &Call,
    (purse, spending): (&Purse, &Spending),
) -> Result<Reply, String> {
    if purse.is_spent_after(spending.not_counted()).is_some() {
        return Err(NOTHING_LEFT.to_owned());
    }
    let request = Request {
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Arc::new([]),
        cache_key: None,
    };
    tokio::select! {
        reply = deft_llm::complete(model.as_ref(), request, |_| {}) => reply.map_err(|error| error.to_string()),
        () = call.cancel.cancelled() => Err(ToolError::Cancelled.to_string()),
    }
}

pub(crate) fn wrong(tool: &'static str, action: &Action) -> ToolError {
    ToolError::WrongAction {
        tool,
        kind: action.kind().to_owned(),
    }
}
