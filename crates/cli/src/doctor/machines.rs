//! The other machines that conversations have worked on, and whether they let us in.

use std::collections::BTreeMap;

use deft_workspace::WorkspaceName;
use futures::future::join_all;

use super::Check;
use super::places::{in_time, told};
use crate::compose;
use crate::settings::Settings;
use crate::workspace;

/// So many of the latest conversations are looked at,
const MAX_CONVERSATIONS: usize = 200;
/// and so many machines are asked.
const MAX_MACHINES: usize = 8;

/// Asks each machine for the directory that was worked in last.
pub(super) async fn checks(settings: &Settings) -> Vec<Check> {
    let machines = machines(settings).await.unwrap_or_default();
    let checks = machines.into_iter().map(async |(machine, name)| {
        let check = told(
            "ssh host",
            in_time(async { Some(workspace::reach(&name, settings).await) }).await,
            "",
        );
        Check {
            text: format!("{machine}: {}", check.text),
            ..check
        }
    });
    join_all(checks).await
}

/// By the words for people: a workspace there. None, where nothing has been stored yet.
async fn machines(settings: &Settings) -> anyhow::Result<BTreeMap<String, WorkspaceName>> {
    let mut machines = BTreeMap::new();
    if !compose::has_store(settings) {
        return Ok(machines);
    }
    let store = compose::open_store(settings)?;
    for record in store.list(None, MAX_CONVERSATIONS).await? {
        let Ok(WorkspaceName::Ssh(place)) = record.workspace.parse() else {
            continue;
        };
        let user = place
            .user
            .as_ref()
            .map_or_else(String::new, |user| format!("{user}@"));
        let port = place.port.map_or_else(String::new, |port| format!(":{port}"));
        let machine = format!("{user}{}{port}", place.host);
        if machines.len() < MAX_MACHINES {
            machines.entry(machine).or_insert(WorkspaceName::Ssh(place));
        }
    }
    Ok(machines)
}
