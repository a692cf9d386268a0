//! The types of the settings for sandboxes.

use std::path::{Path, PathBuf};

use deft_workspace::WorkspaceName;
use deft_workspace::egress::HostRule;
use deft_workspace::sandbox::Tier;
use serde_json::json;

use super::value::{Place, Shape, Shown, Value};

/// What a sandbox reaches over the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NetworkMode {
    Off,
    AllowList,
    All,
}

impl Value for NetworkMode {
    const SHAPE: Shape = Shape::Text;
    const EXPECTED: &'static str = "off, allow-list or all";

    fn read(text: &str, _: &Place) -> Option<Self> {
        match text.trim() {
            "off" => Some(Self::Off),
            "allow-list" => Some(Self::AllowList),
            "all" => Some(Self::All),
            _ => None,
        }
    }

    fn shown(&self) -> Shown {
        match self {
            Self::Off => json!("off"),
            Self::AllowList => json!("allow-list"),
            Self::All => json!("all"),
        }
    }
}

impl Value for Tier {
    const SHAPE: Shape = Shape::Text;
    const EXPECTED: &'static str = "landlock or namespaces";

    fn read(text: &str, _: &Place) -> Option<Self> {
        match text.trim() {
            "landlock" => Some(Self::Landlock),
            "namespaces" => Some(Self::Namespaces),
            _ => None,
        }
    }

    fn shown(&self) -> Shown {
        match self {
            Self::Landlock => json!("landlock"),
            Self::Namespaces => json!("namespaces"),
        }
    }
}

/// Hosts, with commas between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hosts(pub(crate) Vec<HostRule>);

impl Value for Hosts {
    const SHAPE: Shape = Shape::Text;
    const EXPECTED: &'static str =
        "hosts such as example.com, *.example.com or 10.0.0.5:8081, with commas between";

    fn read(text: &str, _: &Place) -> Option<Self> {
        let hosts: Result<_, _> = text.split(',').map(str::parse).collect();
        hosts.ok().map(Self)
    }

    fn shown(&self) -> Shown {
        json!(
            self.0
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        )
    }
}

/// Directories, with commas between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Directories(pub(crate) Vec<PathBuf>);

impl Value for Directories {
    const SHAPE: Shape = Shape::Text;
    const EXPECTED: &'static str = "paths, absolute or below ~, with commas between";

    fn read(text: &str, place: &Place) -> Option<Self> {
        let paths: Option<_> = text
            .split(',')
            .map(|path| PathBuf::read(path.trim(), place))
            .collect();
        paths.map(Self)
    }

    fn shown(&self) -> Shown {
        let paths = self.0.iter().map(|path| path.to_string_lossy());
        json!(paths.collect::<Vec<_>>().join(", "))
    }
}

impl Value for WorkspaceName {
    const SHAPE: Shape = Shape::Text;
    const EXPECTED: &'static str = "a path, local:PATH, sandbox:PATH, docker:IMAGE, k8s:IMAGE, ssh:[user@]host[:port]/path or remote:URL";

    fn read(text: &str, place: &Place) -> Option<Self> {
        let path = |path: &Path| PathBuf::read(path.to_str()?, place);
        match text.parse().ok()? {
            Self::Local(given) => path(&given).map(Self::Local),
            Self::Sandbox(given) => path(&given).map(Self::Sandbox),
            elsewhere @ (Self::Docker(_) | Self::Kubernetes(_) | Self::Ssh(_) | Self::Remote(_)) => {
                Some(elsewhere)
            }
        }
    }

    fn shown(&self) -> Shown {
        json!(self.to_string())
    }
}
