//! Plugins: what people want in an image by one name, such as a language with what belongs to it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::DockerError;

/// The manifests that come with this program.
const OURS: [(&str, &str); 6] = [
    ("browser", include_str!("../plugins/browser.json")),
    ("jupyter", include_str!("../plugins/jupyter.json")),
    ("node", include_str!("../plugins/node.json")),
    ("python", include_str!("../plugins/python.json")),
    ("rust", include_str!("../plugins/rust.json")),
    ("vscode", include_str!("../plugins/vscode.json")),
];

/// A plugin's manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plugin {
    /// What it is called: lower-case letters, digits and dashes.
    pub name: String,
    /// The packages it needs, as each package manager calls them.
    #[serde(default)]
    pub packages: PluginPackages,
    /// Commands that install the rest, run by `sh` as the first user.
    #[serde(default)]
    pub install: Vec<String>,
    /// The programs that it adds. The image is good only if each can be found.
    #[serde(default)]
    pub tools: Vec<String>,
    /// A command that succeeds if it works.
    #[serde(default)]
    pub check: Option<String>,
    /// What it serves when somebody runs `serve-NAME`. The image is good only if that listens.
    #[serde(default)]
    pub serves: Option<Service>,
}

/// A program that serves a port. Whoever may see it is for the server to say, which carries it to browsers: it listens
/// on the loopback address and asks for no password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// The port.
    pub port: u16,
    /// What serves it until it is ended, run by `sh` as whoever wants it.
    pub command: String,
}

/// Packages by their manager.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PluginPackages {
    /// Debian's and Ubuntu's names.
    pub apt: Vec<String>,
    /// Alpine's names.
    pub apk: Vec<String>,
    /// Fedora's and Red Hat's names.
    pub dnf: Vec<String>,
}

impl PluginPackages {
    pub(crate) fn is_empty(&self) -> bool {
        self.apt.is_empty() && self.apk.is_empty() && self.dnf.is_empty()
    }
}

impl Plugin {
    /// The plugin of this name: one of the user's own, whose manifest is `NAME.json` in the directory, or one of ours.
    pub fn named(name: &str, directory: &Path) -> Result<Self, DockerError> {
        let unknown = |reason: String| DockerError::Plugin {
            name: name.to_owned(),
            reason,
        };
        if !is_name(name) {
            return Err(unknown(
                "names have lower-case letters, digits and dashes".to_owned(),
            ));
        }
        let path = directory.join(format!("{name}.json"));
        let manifest = match std::fs::read_to_string(&path) {
            Ok(manifest) => manifest,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let ours = OURS.iter().find(|(ours, _)| *ours == name);
                let (_, manifest) = ours.ok_or_else(|| {
                    let names: Vec<_> = OURS.iter().map(|(name, _)| *name).collect();
                    unknown(format!(
                        "there are {}, and {} does not exist",
                        names.join(", "),
                        path.display()
                    ))
                })?;
                (*manifest).to_owned()
            }
            Err(error) => return Err(unknown(format!("{} cannot be read: {error}", path.display()))),
        };
        let plugin: Self = serde_json::from_str(&manifest)
            .map_err(|error| unknown(format!("its manifest is wrong: {error}")))?;
        if plugin.name == name {
            Ok(plugin)
        } else {
            Err(unknown(format!("its manifest calls it {:?}", plugin.name)))
        }
    }
}

fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    impl Plugin {
        /// All that come with this program.
        pub(crate) fn ours() -> Vec<Self> {
            let named = |(name, _): (&str, _)| Self::named(name, Path::new("/nowhere")).unwrap();
            OURS.into_iter().map(named).collect()
        }
    }

    #[test]
    fn ours_can_be_had_by_name_and_say_how_they_are_checked() {
        for plugin in Plugin::ours() {
            let name = &plugin.name;
            assert!(plugin.check.is_some() && !plugin.tools.is_empty(), "{name}");
            let serves = plugin.serves.is_some();
            assert_eq!(serves, ["jupyter", "vscode"].contains(&name.as_str()), "{name}");
        }
    }

    #[test]
    fn a_users_own_stands_before_ours_and_its_faults_are_told() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
        write("node.json", r#"{"name": "node", "install": ["mine"]}"#);
        write("other.json", r#"{"name": "node"}"#);
        write("wrong.json", r#"{"name": "wrong", "instal": []}"#);
        assert_eq!(Plugin::named("node", directory.path()).unwrap().install, ["mine"]);
        for (name, reason) in [
            ("other", "calls it \"node\""),
            ("wrong", "unknown field `instal`"),
            ("../node", "lower-case letters"),
            ("cobol", "there are browser, jupyter, node, python, rust, vscode"),
        ] {
            let told = Plugin::named(name, directory.path()).unwrap_err().to_string();
            assert!(told.contains(reason), "{told}");
        }
    }
}
