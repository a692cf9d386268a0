//! Plugins: folders with skills, commands and agents that belong together.

use serde_json::{Map, Value};

use crate::agent::{AGENT_FOLDERS, AgentDefinition, agents_in};
use crate::discover::Found;
use crate::files::{Files, below, name_of};
use crate::problem::Problem;
use crate::skill::{Kind, Origin, Skill};

/// Folders of a project or of a home directory that hold plugins.
pub const PLUGIN_FOLDERS: &[&str] = &[".agents/plugins", ".openhands/plugins"];
/// Where a plugin says what it is.
pub const MANIFESTS: &[&str] = &[".plugin/plugin.json", ".claude-plugin/plugin.json", "plugin.json"];
/// Where a plugin keeps its hooks.
pub const PLUGIN_HOOKS: &str = "hooks/hooks.json";
/// Where a plugin names its MCP servers.
pub const PLUGIN_SERVERS: [&str; 2] = [".mcp.json", "mcp.json"];
/// What stands for the plugin's own folder.
const ROOTS: [&str; 2] = ["${CLAUDE_PLUGIN_ROOT}", "${PLUGIN_ROOT}"];
/// Characters of a name.
const MAX_NAME: usize = 64;

/// A plugin: what it says about itself, and what it brings along.
#[derive(Clone, Debug)]
pub struct Plugin {
    /// What it is called, by itself or by its folder.
    pub name: String,
    /// Its folder.
    pub home: String,
    /// Its manifest, whole; empty where it has none.
    pub manifest: Map<String, Value>,
    /// Its files, seen from its folder.
    pub files: Vec<String>,
    /// Its skills and its commands.
    pub skills: Vec<Skill>,
    /// Agents that can be given tasks.
    pub agents: Vec<AgentDefinition>,
    /// Its hooks, as they are written.
    pub hooks: Option<Value>,
    /// Its MCP servers, by name.
    pub servers: Map<String, Value>,
}

impl Plugin {
    /// Reads the plugin of a folder.
    pub fn read(files: &impl Files, home: &str, origin: Origin) -> Self {
        let (name, manifest) = identity(files, home);
        let mut found = Found::nothing(files);
        found.plugin(&name, home, origin);
        let listed = files.list(home);
        let json = |path: &str| -> Option<Value> {
            let text = files.read(&format!("{home}/{path}")).ok()?;
            serde_json::from_str(&with_root(&text, home)).ok()
        };
        Self {
            hooks: json(PLUGIN_HOOKS),
            servers: PLUGIN_SERVERS
                .iter()
                .find_map(|path| json(path))
                .and_then(|written| written.get("mcpServers").unwrap_or(&written).as_object().cloned())
                .unwrap_or_default(),
            name,
            manifest,
            files: listed
                .iter()
                .filter_map(|path| below(path, home).map(str::to_owned))
                .collect(),
            skills: found.skills,
            agents: agents_in(files, &format!("{home}/agents"), origin)
                .into_iter()
                .flatten()
                .collect(),
            home: home.to_owned(),
        }
    }

    /// What the manifest says under a name, where that is a text.
    pub fn said(&self, name: &str) -> &str {
        self.manifest
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }
}

/// The folders of the plugins in a folder.
pub fn plugin_homes(files: &impl Files, folder: &str) -> Vec<String> {
    let listed = files.list(folder);
    let first = |path: &String| Some(below(path, folder)?.split_once('/')?.0.to_owned());
    let mut names: Vec<_> = listed.iter().filter_map(first).collect();
    names.sort();
    names.dedup();
    names.into_iter().map(|name| format!("{folder}/{name}")).collect()
}

/// The name of a plugin, and what it says about itself.
fn identity(files: &impl Files, home: &str) -> (String, Map<String, Value>) {
    let manifest = MANIFESTS.iter().find_map(|manifest| {
        let text = files.read(&format!("{home}/{manifest}")).ok()?;
        serde_json::from_str::<Map<String, Value>>(&text).ok()
    });
    let manifest = manifest.unwrap_or_default();
    let own = manifest
        .get("name")
        .and_then(Value::as_str)
        .filter(|name| is_name(name));
    (own.unwrap_or(name_of(home)).to_owned(), manifest)
}

/// A text of a plugin, in JSON, with the path of its folder in it.
pub fn with_root(text: &str, home: &str) -> String {
    let path = Value::from(home).to_string(); // quoted as in JSON
    let path = &path[1..path.len() - 1];
    ROOTS
        .iter()
        .fold(text.to_owned(), |text, root| text.replace(root, path))
}

/// It becomes a part of what people type.
fn is_name(name: &str) -> bool {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
    !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_plain)
}

/// The agents of the plugins of a folder.
pub fn agents_of_plugins(
    files: &impl Files,
    folder: &str,
    origin: Origin,
) -> Vec<Result<AgentDefinition, Problem>> {
    let homes = plugin_homes(files, folder).into_iter();
    homes
        .flat_map(|home| agents_in(files, &format!("{home}/agents"), origin))
        .collect()
}

/// The agents that a project defines, and behind them those of its plugins.
pub fn agents_of_project(files: &impl Files, workspace: &str) -> Vec<Result<AgentDefinition, Problem>> {
    let place = |folder: &&str| format!("{workspace}/{folder}");
    let own = AGENT_FOLDERS.iter().map(place);
    let own = own.flat_map(|folder| agents_in(files, &folder, Origin::Project));
    let of_plugins = PLUGIN_FOLDERS.iter().map(place);
    let of_plugins = of_plugins.flat_map(|folder| agents_of_plugins(files, &folder, Origin::Project));
    own.chain(of_plugins).collect()
}

impl<F: Files> Found<'_, F> {
    /// What the plugins of a folder bring along: skills, and commands, which people call by `/PLUGIN:NAME`.
    pub(crate) fn plugins(&mut self, folder: &str, origin: Origin) {
        for home in plugin_homes(self.files, folder) {
            let name = identity(self.files, &home).0;
            self.plugin(&name, &home, origin);
        }
    }

    fn plugin(&mut self, name: &str, home: &str, origin: Origin) {
        if self.files.read(&format!("{home}/SKILL.md")).is_ok() {
            self.folder(home, origin);
            return;
        }
        self.folder(&format!("{home}/skills"), origin);
        self.commands(name, &format!("{home}/commands"), origin);
    }

    fn commands(&mut self, plugin: &str, folder: &str, origin: Origin) {
        let mut listed = self.files.list(folder);
        listed.sort();
        for path in listed {
            let stem = below(&path, folder).and_then(|name| name.strip_suffix(".md"));
            let Some(stem) = stem.filter(|stem| is_name(stem)) else {
                continue;
            };
            let name = format!("{plugin}:{stem}");
            if let Some(text) = self.read(&path)
                && let Some(mut command) = self.parse(&path, &text, &name, origin)
            {
                command.kind = Kind::Knowledge;
                command.triggers = vec![format!("/{name}")];
                self.keep(command);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::io;

    use super::*;
    use crate::discover::Roots;
    use crate::skills::Skills;

    struct Written(BTreeMap<&'static str, &'static str>);

    impl Files for Written {
        fn list(&self, directory: &str) -> Vec<String> {
            let paths = self.0.keys().filter(|path| below(path, directory).is_some());
            paths.map(|path| (*path).to_owned()).collect()
        }

        fn read(&self, path: &str) -> io::Result<String> {
            let text = self.0.get(path).ok_or(io::ErrorKind::NotFound)?;
            Ok((*text).to_owned())
        }
    }

    #[test]
    fn a_plugin_brings_skills_commands_and_agents() {
        let files = Written(BTreeMap::from([
            (
                "/w/.agents/plugins/a/.claude-plugin/plugin.json",
                r#"{"name": "ship-it"}"#,
            ),
            (
                "/w/.agents/plugins/a/skills/release/SKILL.md",
                "---\nname: release\ndescription: d\n---\nDo.",
            ),
            (
                "/w/.agents/plugins/a/commands/undo.md",
                "---\ndescription: back\n---\nUndo $ARGUMENTS.",
            ),
            (
                "/w/.agents/plugins/a/agents/judge.md",
                "---\ndescription: judges\n---\nJudge.",
            ),
            ("/w/.agents/plugins/a/README.md", "Nothing for agents."),
            ("/w/.agents/plugins/b/plugin.json", r#"{"name": "../evil"}"#),
            ("/w/.agents/plugins/b/commands/x.md", "Do x."),
            (
                "/w/.agents/plugins/c/SKILL.md",
                "---\nname: c\ndescription: alone\n---\nDo c.",
            ),
        ]));
        let roots = Roots {
            workspace: Some("/w".to_owned()),
            ..Roots::default()
        };
        let (skills, problems) = Skills::load(&files, &roots);
        assert!(problems.is_empty(), "{problems:?}");
        let names: Vec<_> = skills.all().iter().map(|skill| skill.name.as_str()).collect();
        assert_eq!(names, ["release", "ship-it:undo", "b:x", "c"]);
        let called = skills.triggered_by("please /ship-it:undo the last one", &BTreeSet::new());
        assert_eq!(called.len(), 1);
        assert!(
            called[0].text.contains("Undo the last one."),
            "{}",
            called[0].text
        );
        let already = BTreeSet::from([called[0].skill.clone()]);
        let again = skills.triggered_by("/ship-it:undo all", &already);
        assert!(
            again[0].text.contains("Undo all."),
            "a command is called more than once"
        );
        let agents = agents_of_plugins(&files, "/w/.agents/plugins", Origin::Project);
        assert_eq!(agents[0].as_ref().unwrap().name, "judge");
        let plugin = Plugin::read(&files, "/w/.agents/plugins/a", Origin::Client);
        let names: Vec<_> = plugin.skills.iter().map(|skill| &*skill.name).collect();
        assert_eq!(
            (&*plugin.name, names),
            ("ship-it", vec!["release", "ship-it:undo"])
        );
        assert_eq!(plugin.agents[0].name, "judge");
        assert!(plugin.files.contains(&"README.md".to_owned()));
    }
}
