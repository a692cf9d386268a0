//! The text that names a workspace wherever people and programs write one.

mod typed;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Where the files are in containers, pods and hosted sandboxes.
const IN_CONTAINER: &str = "/workspace";

/// Which workspace is meant. A plain path is short for `sandbox:PATH`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum WorkspaceName {
    /// `local:PATH`: a directory of this machine, without a sandbox.
    Local(PathBuf),
    /// `sandbox:PATH`: a directory of this machine, in a sandbox.
    Sandbox(PathBuf),
    /// `docker:IMAGE[?…]`: a container.
    Docker(Image),
    /// `k8s:IMAGE[?…]`: a pod.
    Kubernetes(Image),
    /// `ssh:[user@]host[:port]/path`: a directory of another machine.
    Ssh(SshPlace),
    /// `remote:URL`: a workspace that another server keeps.
    Remote(url::Url),
}

/// An image, and how it is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The image's name.
    pub image: String,
    /// What stands behind the question mark, key by key.
    pub options: Vec<(String, String)>,
}

/// A directory of a machine that is reached by SSH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshPlace {
    /// Whose account, if not the one that SSH would choose.
    pub user: Option<String>,
    /// The machine: a name, an address, or an alias of `~/.ssh/config`.
    pub host: String,
    /// The port, if not the one that SSH would choose.
    pub port: Option<u16>,
    /// The directory.
    pub path: PathBuf,
}

/// Why a text names no workspace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} names no workspace: {reason}")]
pub struct WorkspaceNameError {
    name: String,
    reason: &'static str,
}

impl WorkspaceName {
    /// Whether a text begins as names do, and is no path.
    pub fn is_one(text: &str) -> bool {
        let kinds = ["local", "sandbox", "docker", "k8s", "ssh", "remote"];
        text.split_once(':')
            .is_some_and(|(kind, _)| kinds.contains(&kind))
    }

    /// The directory, where it is one of this machine.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Self::Local(path) | Self::Sandbox(path) => Some(path),
            Self::Docker(_) | Self::Kubernetes(_) | Self::Ssh(_) | Self::Remote(_) => None,
        }
    }

    /// Where the files are, as tools and clients see it there.
    pub fn root(&self) -> PathBuf {
        match self {
            Self::Local(path) | Self::Sandbox(path) => path.clone(),
            Self::Docker(_) | Self::Kubernetes(_) => IN_CONTAINER.into(),
            Self::Ssh(place) => place.path.clone(),
            Self::Remote(url) => {
                let named = url.query_pairs().find(|(key, _)| key == "dir");
                named.map_or_else(|| IN_CONTAINER.into(), |(_, path)| PathBuf::from(path.as_ref()))
            }
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Local(_) => "local",
            Self::Sandbox(_) => "sandbox",
            Self::Docker(_) => "docker",
            Self::Kubernetes(_) => "k8s",
            Self::Ssh(_) => "ssh",
            Self::Remote(_) => "remote",
        }
    }
}

impl FromStr for WorkspaceName {
    type Err = WorkspaceNameError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let wrong = |reason| WorkspaceNameError {
            name: name.to_owned(),
            reason,
        };
        let path = |text: &str| match text {
            "" => Err(wrong("the path is missing")),
            text => Ok(PathBuf::from(text)),
        };
        let image = |text: &str| Image::parse(text).ok_or_else(|| wrong("the image is missing"));
        match name.split_once(':') {
            Some(("local", rest)) => path(rest).map(Self::Local),
            Some(("sandbox", rest)) => path(rest).map(Self::Sandbox),
            Some(("docker", rest)) => image(rest).map(Self::Docker),
            Some(("k8s", rest)) => image(rest).map(Self::Kubernetes),
            Some(("ssh", rest)) => SshPlace::parse(rest)
                .map(Self::Ssh)
                .ok_or_else(|| wrong("write ssh:[user@]host[:port]/path")),
            Some(("remote", rest)) => rest
                .parse()
                .ok()
                .filter(|url: &url::Url| matches!(url.scheme(), "http" | "https"))
                .map(Self::Remote)
                .ok_or_else(|| wrong("write remote: and an address that starts with http:// or https://")),
            _ => path(name).map(Self::Sandbox),
        }
    }
}

impl fmt::Display for WorkspaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.kind())?;
        match self {
            Self::Local(path) | Self::Sandbox(path) => write!(f, "{}", path.display()),
            Self::Docker(image) | Self::Kubernetes(image) => write!(f, "{image}"),
            Self::Ssh(place) => write!(f, "{place}"),
            Self::Remote(url) => write!(f, "{url}"),
        }
    }
}

impl TryFrom<String> for WorkspaceName {
    type Error = WorkspaceNameError;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        name.parse()
    }
}

impl From<WorkspaceName> for String {
    fn from(name: WorkspaceName) -> Self {
        name.to_string()
    }
}

impl Image {
    fn parse(text: &str) -> Option<Self> {
        let (image, query) = text.split_once('?').unwrap_or((text, ""));
        let options = url::form_urlencoded::parse(query.as_bytes())
            .into_owned()
            .collect();
        (!image.is_empty()).then(|| Self {
            image: image.to_owned(),
            options,
        })
    }
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.image)?;
        if self.options.is_empty() {
            return Ok(());
        }
        let query = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(&self.options)
            .finish();
        write!(f, "?{query}")
    }
}

impl SshPlace {
    fn parse(text: &str) -> Option<Self> {
        let (account, path) = text.split_at(text.find('/')?);
        let (user, machine) = match account.rsplit_once('@') {
            Some((user, machine)) => (Some(user.to_owned()), machine),
            None => (None, account),
        };
        // An address of version 6 stands in brackets, for it has colons of its own.
        let (host, port) = if let Some(rest) = machine.strip_prefix('[') {
            let (host, rest) = rest.split_once(']')?;
            (host, rest.strip_prefix(':'))
        } else {
            machine
                .split_once(':')
                .map_or((machine, None), |(host, port)| (host, Some(port)))
        };
        // What begins with a dash would be an option to the programs it is given to.
        let is_plain = |text: &str| !text.is_empty() && !text.starts_with('-');
        if !is_plain(host) || user.as_deref().is_some_and(|user| !is_plain(user)) {
            return None;
        }
        Some(Self {
            user,
            host: host.to_owned(),
            port: port.map(str::parse).transpose().ok()?,
            path: path.into(),
        })
    }
}

impl fmt::Display for SshPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        if self.host.contains(':') {
            write!(f, "[{}]", self.host)?;
        } else {
            f.write_str(&self.host)?;
        }
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        write!(f, "{}", self.path.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_printed_as_it_was_read() {
        for name in [
            "local:/a/b c",
            "sandbox:/a:b",
            "docker:debian:12",
            "docker:ghcr.io/a/b@sha256:00?network=none&gpu=all",
            "k8s:debian:12?namespace=deft",
            "ssh:host/srv/x",
            "ssh:me@host:2222/srv/x",
            "ssh:me@[::1]:2222/srv",
            "remote:https://deft.example.com/w/1",
        ] {
            let parsed: WorkspaceName = name.parse().unwrap();
            assert_eq!(parsed.to_string(), name);
            let json = serde_json::to_string(&parsed).unwrap();
            assert_eq!(serde_json::from_str::<WorkspaceName>(&json).unwrap(), parsed);
        }
    }

    #[test]
    fn a_plain_path_is_sandboxed() {
        for path in [".", "/srv/x", "a:b", "./docker:x"] {
            assert_eq!(
                path.parse::<WorkspaceName>(),
                Ok(WorkspaceName::Sandbox(path.into()))
            );
        }
    }

    #[test]
    fn what_names_nothing_is_refused_with_a_reason() {
        for (name, reason) in [
            ("", "path is missing"),
            ("local:", "path is missing"),
            ("docker:", "image is missing"),
            ("docker:?a=b", "image is missing"),
            ("ssh:host", "ssh:["),
            ("ssh:/path", "ssh:["),
            ("ssh:-oProxyCommand=x/y", "ssh:["),
            ("ssh:-l@host/y", "ssh:["),
            ("ssh:host:x/y", "ssh:["),
            ("remote:file:///etc", "http://"),
        ] {
            let error = name.parse::<WorkspaceName>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
