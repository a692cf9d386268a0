//! How a pod is doing.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::K8sError;
use crate::manifest::{DELIVER, EXECUTOR, VERSION};

/// Why a container waits when its image cannot be had.
const NO_IMAGE: &[&str] = &[
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
];
/// Why a container waits when it can never be started.
const NO_START: &[&str] = &[
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
];

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Pod {
    metadata: Metadata,
    #[serde(default)]
    status: Status,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    deletion_timestamp: Option<String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    #[serde(default)]
    phase: String,
    reason: Option<String>,
    message: Option<String>,
    #[serde(default)]
    conditions: Vec<Condition>,
    #[serde(default)]
    init_container_statuses: Vec<Container>,
    #[serde(default)]
    container_statuses: Vec<Container>,
}

#[derive(Debug, Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    reason: Option<String>,
    message: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Container {
    name: String,
    image: String,
    #[serde(default)]
    state: State,
}

#[derive(Debug, Default, Deserialize)]
struct State {
    running: Option<serde_json::Value>,
    waiting: Option<Why>,
    terminated: Option<Why>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Why {
    reason: Option<String>,
    message: Option<String>,
    exit_code: Option<i64>,
}

/// What is to be done about a pod.
#[derive(Debug)]
pub(crate) enum Doing {
    /// It is being made; wait.
    Coming,
    /// It waits for our program.
    WantsProgram,
    /// Its executor runs.
    Runs,
    /// It is being removed; wait.
    Leaving,
    /// Its executor has ended, as they do when nobody talks to them.
    Over,
    /// It ended for a reason that is worth knowing.
    Lost(String, &'static str),
}

impl Pod {
    pub(crate) fn version(&self) -> &str {
        self.metadata.annotations.get(VERSION).map_or("", String::as_str)
    }

    pub(crate) fn doing(&self) -> Doing {
        if self.metadata.deletion_timestamp.is_some() {
            return Doing::Leaving;
        }
        match self.status.phase.as_str() {
            "Succeeded" => Doing::Over,
            "Failed" => self.why_failed(),
            _ if self.is_running(EXECUTOR) => Doing::Runs,
            _ if self.is_running(DELIVER) => Doing::WantsProgram,
            _ => Doing::Coming,
        }
    }

    /// Whether a container of it runs, as far as the cluster knows.
    pub(crate) fn is_running(&self, name: &str) -> bool {
        let mut containers = self.containers().filter(|container| container.name == name);
        containers.any(|container| container.state.running.is_some())
    }

    /// Whether its node has said that nothing of it runs any more.
    pub(crate) fn has_ended(&self) -> bool {
        let is_over = matches!(self.status.phase.as_str(), "Succeeded" | "Failed");
        let mut executor = self.status.container_statuses.iter();
        let mut all = self.containers();
        (is_over || executor.any(|container| container.state.terminated.is_some()))
            && all.all(|container| container.state.running.is_none())
    }

    fn containers(&self) -> impl Iterator<Item = &Container> {
        let status = &self.status;
        status
            .container_statuses
            .iter()
            .chain(&status.init_container_statuses)
    }

    fn why_failed(&self) -> Doing {
        if let Some(ended) = self.ended()
            && ended.reason.as_deref() == Some("OOMKilled")
        {
            let hint = "; give it more memory (?memory=…), or run less at the same time";
            return Doing::Lost("it had used up its memory".to_owned(), hint);
        }
        match self.status.reason.as_deref() {
            None | Some("DeadlineExceeded") => Doing::Over, // killed from outside, or too old
            Some(reason) => {
                let message = self.status.message.as_deref().unwrap_or_default();
                Doing::Lost(format!("{reason} {message}").trim().to_owned(), "")
            }
        }
    }

    fn ended(&self) -> Option<&Why> {
        let mut containers = self.containers();
        containers.find_map(|container| container.state.terminated.as_ref())
    }

    /// Why it will never run as it is, if that can be seen.
    pub(crate) fn hopeless(&self) -> Option<K8sError> {
        self.containers().find_map(|container| {
            let waiting = container.state.waiting.as_ref()?;
            let reason = waiting.reason.as_deref()?;
            let message = waiting.message.clone().unwrap_or_else(|| reason.to_owned());
            if NO_IMAGE.contains(&reason) {
                let image = container.image.clone();
                return Some(K8sError::NoImage { image, message });
            }
            NO_START.contains(&reason).then_some(K8sError::Start(message))
        })
    }

    /// Why no node has taken it, if that is so.
    pub(crate) fn unscheduled(&self) -> Option<K8sError> {
        let conditions = self.status.conditions.iter();
        let mut unscheduled = conditions.filter(|condition| {
            condition.kind == "PodScheduled" && condition.reason.as_deref() == Some("Unschedulable")
        });
        let message = unscheduled.next()?.message.clone().unwrap_or_default();
        Some(K8sError::Unschedulable(message))
    }

    /// How its executor ended, for people.
    pub(crate) fn epitaph(&self) -> String {
        let ended = self.ended().cloned().unwrap_or_default();
        let reason = ended.reason.unwrap_or_else(|| "it is gone".to_owned());
        let code = ended
            .exit_code
            .map_or_else(String::new, |code| format!(" with exit code {code}"));
        let message = ended
            .message
            .map_or_else(String::new, |message| format!(": {message}"));
        format!("{reason}{code}{message}")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::*;

    fn pod(status: &Value) -> Pod {
        serde_json::from_value(json!({"metadata": {"name": "p"}, "status": status})).unwrap()
    }

    fn with(state: &Value) -> Value {
        json!({"phase": "Pending", "containerStatuses": [{"name": "executor", "image": "i", "state": state}]})
    }

    #[test]
    fn each_state_of_a_pod_is_told_from_the_others() {
        let init = json!([{"name": "deliver", "image": "i", "state": {"running": {}}}]);
        assert!(matches!(pod(&json!({"phase": "Pending"})).doing(), Doing::Coming));
        let waits = json!({"phase": "Pending", "initContainerStatuses": init});
        assert!(matches!(pod(&waits).doing(), Doing::WantsProgram));
        assert!(matches!(pod(&with(&json!({"running": {}}))).doing(), Doing::Runs));
        assert!(matches!(pod(&json!({"phase": "Succeeded"})).doing(), Doing::Over));
        let evicted = json!({"phase": "Failed", "reason": "Evicted", "message": "low on disk"});
        assert!(matches!(pod(&evicted).doing(), Doing::Lost(why, _) if why == "Evicted low on disk"));
        let mut killed = with(&json!({"terminated": {"reason": "OOMKilled", "exitCode": 137}}));
        killed["phase"] = "Failed".into();
        assert!(matches!(pod(&killed).doing(), Doing::Lost(_, hint) if hint.contains("memory")));
        killed["containerStatuses"][0]["state"]["terminated"]["reason"] = "Error".into();
        assert!(matches!(pod(&killed).doing(), Doing::Over));
    }

    #[test]
    fn what_never_starts_is_told_at_once() {
        let no_image = json!({"waiting": {"reason": "ErrImagePull", "message": "not found"}});
        let error = pod(&with(&no_image)).hopeless().unwrap().to_string();
        assert!(
            error.contains("no image 'i'") && error.contains("?pull_secret="),
            "{error}"
        );
        let full = json!({"phase": "Pending", "conditions": [{
            "type": "PodScheduled", "reason": "Unschedulable", "message": "0/1 nodes: Insufficient memory",
        }]});
        assert!(pod(&full).hopeless().is_none());
        let error = pod(&full).unscheduled().unwrap().to_string();
        assert!(
            error.contains("Insufficient memory") && error.contains("ask for less"),
            "{error}"
        );
    }
}
