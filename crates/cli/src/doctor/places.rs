//! Where agents can work beside this machine's directories, and whether that answers.

use std::time::Duration;

use deft_workspace::WorkspaceName;

use super::{Check, bad, good, missing};
use crate::output::one_sentence;
use crate::settings::Settings;
use crate::workspace;

/// How long anything may take to answer.
const LIMIT: Duration = Duration::from_secs(20);

/// Asks the engine, the cluster and the workspace that is named or set, all at the same time.
pub(super) async fn checks(asked: Option<&WorkspaceName>, settings: &Settings) -> Vec<Check> {
    let name = asked.or(settings.workspace.value.as_ref());
    let (engine, cluster, named) = tokio::join!(
        in_time(workspace::engine()),
        in_time(workspace::cluster()),
        in_time(async {
            match name {
                Some(name) => Some(workspace::reach(name, settings).await),
                None => None,
            }
        })
    );
    let no_engine = "no socket of Docker or Podman: start one, if you want workspaces in containers";
    let no_cluster = "no cluster is set up (KUBECONFIG): needed only for workspaces in pods";
    let mut checks = vec![
        told("containers", engine, no_engine),
        told("Kubernetes", cluster, no_cluster),
    ];
    if let Some(name) = name {
        let check = match named {
            Some(Err(error)) => bad("workspace", one_sentence(&error)),
            named => told("workspace", named, ""),
        };
        checks.push(Check {
            text: format!("{name}: {}", check.text),
            ..check
        });
    }
    checks
}

pub(super) type Answer = Option<anyhow::Result<String>>;

pub(super) async fn in_time(answer: impl Future<Output = Answer>) -> Answer {
    let late = || {
        Some(Err(anyhow::anyhow!(
            "no answer after {} seconds",
            LIMIT.as_secs()
        )))
    };
    tokio::time::timeout(LIMIT, answer)
        .await
        .unwrap_or_else(|_| late())
}

pub(super) fn told(name: &'static str, answer: Answer, without: &str) -> Check {
    match answer {
        Some(Ok(text)) => good(name, text),
        Some(Err(error)) => missing(name, one_sentence(&error)),
        None => missing(name, without),
    }
}
