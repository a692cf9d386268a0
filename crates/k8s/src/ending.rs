//! How what was made for a conversation ends, and what is left of conversations that nobody knows any more.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde::Deserialize;
use tokio::time::Instant;

use crate::api::Ask;
use crate::cluster::Cluster;
use crate::error::K8sError;
use crate::manifest::{CLAIMS, CONVERSATION, OWNER, PODS, POLICIES};
use crate::pod::Pod;

/// How long a pod may take to go before its node is given up, and then until it is gone.
const GONE_LIMIT: Duration = Duration::from_secs(60);
const GIVEN_UP_LIMIT: Duration = Duration::from_secs(10);
/// How often a pod is looked at while we wait for it.
pub(crate) const LOOK_PAUSE: Duration = Duration::from_millis(150);
/// Of each kind, so many are listed at most.
const MAX_LISTED: &str = "1000";

/// How a pod ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Its node says that nothing of it runs.
    InOrder,
    /// Its node said nothing. It may run there until nobody has talked to it for long.
    GivenUp,
}

/// What the API tells of anything that was made.
#[derive(Debug, Deserialize)]
struct Made {
    metadata: Metadata,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    creation_timestamp: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

impl Cluster {
    /// The pod of this name, if there is one.
    pub(crate) async fn pod(&self, name: &str) -> Result<Option<Pod>, K8sError> {
        let what = "look at a pod";
        let found = self.look(what, format!("{PODS}/{name}")).await?;
        let read = |found| serde_json::from_value(found);
        found.map(read).transpose().map_err(|error| K8sError::Broken {
            what,
            reason: error.to_string(),
        })
    }

    /// Ends a pod, and waits until it is gone.
    pub(crate) async fn end_pod(&self, name: &str) -> Result<End, K8sError> {
        let what = "end a pod";
        let path = format!("{PODS}/{name}");
        let at_once = || Ask::delete(what, path.as_str()).query(&[("gracePeriodSeconds", "0")]);
        self.remove(Ask::delete(what, path.as_str())).await?;
        let mut deadline = Instant::now() + GONE_LIMIT;
        let mut end = End::InOrder;
        while let Some(pod) = self.pod(name).await? {
            if pod.has_ended() {
                // Its containers would be cleared away first, which nodes do once a minute.
                self.remove(at_once()).await?;
            } else if Instant::now() > deadline {
                if end == End::GivenUp {
                    return Err(K8sError::Slow(what));
                }
                end = End::GivenUp;
                deadline += GIVEN_UP_LIMIT;
                self.remove(at_once()).await?;
            }
            tokio::time::sleep(LOOK_PAUSE).await;
        }
        Ok(end)
    }

    /// Ends a pod and deletes all that was made with it, its files too.
    pub(crate) async fn remove_all(&self, name: &str) -> Result<(), K8sError> {
        self.end_pod(name).await?; // never without its policy
        let policy = Ask::delete("delete a network policy", format!("{POLICIES}/{name}"));
        self.remove(policy).await?;
        let claim = Ask::delete("delete a volume's claim", format!("{CLAIMS}/{name}"));
        self.remove(claim).await
    }

    /// The conversations for which this installation has made something here.
    pub async fn conversations(&self, owner: &str) -> Result<Vec<String>, K8sError> {
        Ok(self.made(&of(owner)).await?.into_keys().collect())
    }

    /// Whether anything was made for a conversation.
    pub(crate) async fn has_any_of(&self, conversation: &str) -> Result<bool, K8sError> {
        let made = self.made(&format!("{CONVERSATION}={conversation}")).await?;
        Ok(!made.is_empty())
    }

    /// Removes pods, volumes and policies of this installation that are older than `age` and whose conversation
    /// nobody knows any more, and tells which conversations they belonged to.
    pub async fn collect_orphans(
        &self,
        owner: &str,
        is_known: impl Fn(&str) -> bool,
        age: Duration,
        now: SystemTime,
    ) -> Result<Vec<String>, K8sError> {
        let mut removed = Vec::new();
        for (conversation, (name, created)) in self.made(&of(owner)).await? {
            let is_old = now.duration_since(created).is_ok_and(|lived| lived >= age);
            if is_old && !is_known(&conversation) {
                self.remove_all(&name).await?;
                removed.push(conversation);
            }
        }
        Ok(removed)
    }

    /// By conversation: the name of all that was made for it, and when the last of that was. The selector says whose.
    async fn made(&self, selector: &str) -> Result<BTreeMap<String, (String, SystemTime)>, K8sError> {
        let what = "list what is there";
        let query = [("labelSelector", selector), ("limit", MAX_LISTED)];
        let mut all: BTreeMap<String, (String, SystemTime)> = BTreeMap::new();
        for kind in [PODS, CLAIMS, POLICIES] {
            let mut found = self.ask(Ask::get(what, kind).query(&query)).await?;
            let made: Vec<Made> =
                serde_json::from_value(found["items"].take()).map_err(|error| K8sError::Broken {
                    what,
                    reason: error.to_string(),
                })?;
            for Made { mut metadata } in made {
                let created = metadata.creation_timestamp.parse::<Timestamp>();
                let conversation = metadata.labels.remove(CONVERSATION);
                let (Ok(created), Some(conversation)) = (created, conversation) else {
                    continue; // not as we make it
                };
                let created = SystemTime::from(created);
                let known = all.entry(conversation).or_insert((metadata.name, created));
                known.1 = known.1.max(created);
            }
        }
        Ok(all)
    }
}

/// Selects what an installation has made.
fn of(owner: &str) -> String {
    format!("{OWNER}={owner}")
}
