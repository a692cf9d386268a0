//! A container engine behind its socket, and the containers of ours that it has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hyper::Method;
use rustix::fs::{Access, access};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::Ask;
use crate::error::DockerError;

/// The conversation that a container belongs to.
pub(crate) const CONVERSATION: &str = "deft.conversation";
/// The installation of this program that looks after a container.
pub(crate) const OWNER: &str = "deft.owner";
/// The version of this program in a container.
pub(crate) const VERSION: &str = "deft.version";
/// How this program comes into a container.
pub(crate) const DELIVERY: &str = "deft.delivery";
/// It is copied.
pub(crate) const COPIED: &str = "copy";

/// Docker or Podman.
#[derive(Clone, Debug)]
pub struct Docker {
    socket: PathBuf,
}

/// A container of ours.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Container {
    /// The engine's name for it.
    pub id: String,
    /// `created`, `running`, `paused`, `exited` …
    pub state: String,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

/// What an engine says of itself.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Info {
    security_options: Option<Vec<String>>,
    /// Podman's own word. Older ones have no other.
    #[serde(default)]
    rootless: bool,
}

impl Info {
    fn is_rootless(&self) -> bool {
        let mut options = self.security_options.iter().flatten();
        self.rootless || options.any(|option| option.split(',').any(|part| part == "name=rootless"))
    }
}

impl Container {
    /// The conversation it belongs to.
    pub fn conversation(&self) -> &str {
        self.label(CONVERSATION)
    }

    /// The version of this program in it.
    pub fn version(&self) -> &str {
        self.label(VERSION)
    }

    pub(crate) fn is_delivered_by(&self, delivery: &str) -> bool {
        self.label(DELIVERY) == delivery
    }

    fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }
}

impl Docker {
    /// The engine at this socket.
    pub fn at(socket: impl Into<PathBuf>) -> Self {
        Self {
            socket: socket.into(),
        }
    }

    /// The engine that `DOCKER_HOST` names, else the first one that we may use among the places where sockets usually
    /// are. A user's own are in `runtime_dir` (`XDG_RUNTIME_DIR`).
    pub fn find(docker_host: Option<&str>, runtime_dir: Option<&Path>) -> Result<Self, DockerError> {
        if let Some(address) = docker_host.filter(|address| !address.is_empty()) {
            return match address.strip_prefix("unix://") {
                Some(socket) => Ok(Self::at(socket)),
                None => Err(DockerError::Address(address.to_owned())),
            };
        }
        let own = ["docker.sock", "podman/podman.sock"]
            .iter()
            .filter_map(|name| Some(runtime_dir?.join(name)));
        let shared = [
            "/run/docker.sock",
            "/var/run/docker.sock",
            "/run/podman/podman.sock",
        ];
        let sockets = shared.iter().map(PathBuf::from).chain(own);
        let sockets: Vec<_> = sockets.filter(|socket| socket.exists()).collect();
        let ours = sockets
            .iter()
            .find(|socket| access(*socket, Access::WRITE_OK).is_ok());
        let found = ours.or(sockets.first()); // one that is not for us says so when it is asked
        found.map(Self::at).ok_or(DockerError::NoEngine)
    }

    /// Where it listens.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Whether it is there for us.
    pub async fn ping(&self) -> Result<(), DockerError> {
        self.tell(Ask::get("answer", "/_ping")).await
    }

    /// Whether the engine runs as an ordinary user, to whom the first user in its containers is mapped.
    /// It is asked, because its socket may belong to anybody who has it forwarded.
    pub(crate) async fn is_rootless(&self) -> Result<bool, DockerError> {
        let info: Info = self.ask(Ask::get("describe itself", "/info")).await?;
        Ok(info.is_rootless())
    }

    /// The containers of this installation, whatever they do at the moment.
    pub async fn containers(&self, owner: &str) -> Result<Vec<Container>, DockerError> {
        self.labelled(&[format!("{OWNER}={owner}")]).await
    }

    /// Removes containers of this installation that are older than `age` and whose conversation nobody knows any
    /// more, and tells which conversations they belonged to.
    pub async fn collect_orphans(
        &self,
        owner: &str,
        is_known: impl Fn(&str) -> bool,
        age: Duration,
        now: SystemTime,
    ) -> Result<Vec<String>, DockerError> {
        self.remove_unused(owner, |container| {
            let created = SystemTime::UNIX_EPOCH + Duration::from_secs(container.created);
            let is_old = now.duration_since(created).is_ok_and(|lived| lived >= age);
            is_old && !is_known(container.conversation())
        })
        .await
    }

    /// Removes those containers of this installation, with the volumes that were made for them, and tells which
    /// conversations they belonged to.
    pub async fn remove_unused(
        &self,
        owner: &str,
        is_unused: impl Fn(&Container) -> bool,
    ) -> Result<Vec<String>, DockerError> {
        let mut removed = Vec::new();
        for container in self.containers(owner).await? {
            if is_unused(&container) {
                self.remove_of(container.conversation()).await?;
                removed.push(container.conversation().to_owned());
            }
        }
        Ok(removed)
    }

    /// Removes the container of a conversation, and a volume that was made for it. A directory and a volume of the
    /// user's stay.
    pub async fn remove_of(&self, conversation: &str) -> Result<(), DockerError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Found {
            volumes: Option<Vec<Volume>>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Volume {
            name: String,
        }
        let label = format!("{CONVERSATION}={conversation}");
        for container in self.labelled(std::slice::from_ref(&label)).await? {
            self.remove(&container.id).await?;
        }
        let filters = json!({ "label": [label] }).to_string();
        let list = Ask::get("list its volumes", "/volumes").query(&[("filters", &filters)]);
        let found: Found = self.ask(list).await?;
        for Volume { name } in found.volumes.unwrap_or_default() {
            let remove = Ask::new("remove a volume", Method::DELETE, format!("/volumes/{name}"));
            match self.tell(remove).await {
                Err(DockerError::Refused { status: 404, .. }) => {}
                done => done?,
            }
        }
        Ok(())
    }

    pub(crate) async fn labelled(&self, labels: &[String]) -> Result<Vec<Container>, DockerError> {
        let filters = json!({ "label": labels }).to_string();
        let list = Ask::get("list its containers", "/containers/json");
        self.ask(list.query(&[("all", "true"), ("filters", &filters)]))
            .await
    }

    /// Ends a container and deletes what is in it. One that is already gone is fine.
    pub(crate) async fn remove(&self, id: &str) -> Result<(), DockerError> {
        let remove = Ask::new("remove a container", Method::DELETE, format!("/containers/{id}"));
        match self.tell(remove.query(&[("force", "true"), ("v", "true")])).await {
            Err(DockerError::Refused { status: 404, .. }) => Ok(()),
            done => done,
        }
    }

    /// Whether there is a volume of this name.
    pub(crate) async fn has_volume(&self, name: &str) -> Result<bool, DockerError> {
        match self
            .tell(Ask::get("look at a volume", format!("/volumes/{name}")))
            .await
        {
            Err(DockerError::Refused { status: 404, .. }) => Ok(false),
            found => found.map(|()| true),
        }
    }

    /// Makes a volume with these labels. One that is there stays as it is.
    pub(crate) async fn create_volume(&self, name: &str, labels: &Value) -> Result<(), DockerError> {
        let create = Ask::post("create a volume", "/volumes/create");
        self.tell(create.json(&json!({"Name": name, "Labels": labels})))
            .await
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_engine_is_the_one_that_is_named_or_the_first_one_there() {
        let named = Docker::find(Some("unix:///somewhere/docker.sock"), None).unwrap();
        assert_eq!(named.socket(), Path::new("/somewhere/docker.sock"));
        let refused = Docker::find(Some("tcp://host:2375"), None)
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("tcp://host:2375") && refused.contains("DOCKER_HOST=unix://"),
            "{refused}"
        );
    }
    #[test]
    fn an_engine_without_root_is_known_by_the_words_of_each_kind() {
        for (said, expected) in [
            (
                r#"{"SecurityOptions": ["name=seccomp,profile=builtin", "name=rootless"]}"#,
                true,
            ),
            // Podman 4.3, as Debian 12 has it.
            (
                r#"{"SecurityOptions": ["name=apparmor", "name=seccomp,profile=default"], "Rootless": true}"#,
                true,
            ),
            (
                r#"{"SecurityOptions": ["name=seccomp"], "Rootless": false}"#,
                false,
            ),
            (r#"{"SecurityOptions": null}"#, false),
        ] {
            let info: Info = serde_json::from_str(said).unwrap();
            assert_eq!(info.is_rootless(), expected, "{said}");
        }
    }
}
