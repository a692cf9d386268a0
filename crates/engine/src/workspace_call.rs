//! Runs a tool of the executor for the engine itself and not for the agent: only what changes nothing.

use deft_executor::{Client, Outcome, Update};
use deft_types::{Action, ActionId, Observation};
use uuid::Uuid;

/// Runs it to its end. Whoever drops this has lost nothing but an answer.
pub(crate) async fn run(client: &Client, tool: &str, action: Action) -> Result<Observation, String> {
    let id = ActionId::from(Uuid::new_v4());
    let mut running = client.call(id.clone(), tool.to_owned(), action).await;
    let ended = loop {
        match running.next().await {
            Update::Output(_) => {}
            Update::Ended(outcome) => break outcome,
            Update::Unknown | Update::Lost => return Err("The workspace cannot be reached.".to_owned()),
        }
    };
    client.acknowledge(id).await;
    match ended {
        Outcome::Observed { observation } => Ok(*observation),
        Outcome::Failed { message } => Err(message),
    }
}
