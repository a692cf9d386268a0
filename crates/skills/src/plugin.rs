//! Plugins: folders with skills, commands and agents that belong together.

use serde::Deserialize;

use crate::agent::{AGENT_FOLDERS, AgentDefinition, agents_in};
use crate::discover::Found;
use crate::files::{Files, below};
use crate::skill::{Kind, Origin};

/// Folders of a project or of a home directory that hold plugins.
pub const PLUGIN_FOLDERS: &[&str] = &[".agents/plugins", ".openhands/plugins"];
/// Where a plugin says what it is called.
const MANIFESTS: &[&str] = &[".plugin/plugin.json", ".claude-plugin/plugin.json", "plugin.json"];
/// Characters of a name.
const MAX_NAME: usize = 64;

/// A plugin in a folder.
struct Plugin {
    name: String,
    home: String,
}

#[derive(Deserialize)]
struct Manifest {
    name: String,
}

/// The plugins of a folder, each with a folder of its own.
fn plugins_in(files: &impl Files, folder: &str) -> Vec<Plugin> {
    let listed = files.list(folder);
    let first = |path: &String| Some(below(path, folder)?.split_once('/')?.0.to_owned());
    let mut names: Vec<_> = listed.iter().filter_map(first).collect();
    names.sort();
    names.dedup();
    let plugin = |name: String| {
        let home = format!("{folder}/{name}");
        let own = MANIFESTS.iter().find_map(|manifest| {
            let text = files.read(&format!("{home}/{manifest}")).ok()?;
            serde_json::from_str::<Manifest>(&text).ok()
        });
        let own = own.map(|manifest| manifest.name).filter(|name| is_name(name));
        Plugin {
            name: own.unwrap_or(name),
            home,
        }
    };
    names.into_iter().map(plugin).collect()
}

/// The folders of the plugins in a folder.
pub fn plugin_homes(files: &impl Files, folder: &str) -> Vec<String> {
    let plugins = plugins_in(files, folder).into_iter();
    plugins.map(|plugin| plugin.home).collect()
}

/// It becomes a part of what people type.
fn is_name(name: &str) -> bool {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
    !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_plain)
}

/// The agents of the plugins of a folder.
pub fn agents_of_plugins(files: &impl Files, folder: &str, origin: Origin) -> Vec<AgentDefinition> {
    let plugins = plugins_in(files, folder).into_iter();
    plugins
        .flat_map(|plugin| agents_in(files, &format!("{}/agents", plugin.home), origin))
        .collect()
}

/// The agents that a project defines, and behind them those of its plugins.
pub fn agents_of_project(files: &impl Files, workspace: &str) -> Vec<AgentDefinition> {
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
        for Plugin { name, home } in plugins_in(self.files, folder) {
            if self.files.read(&format!("{home}/SKILL.md")).is_ok() {
                self.folder(&home, origin);
                continue;
            }
            self.folder(&format!("{home}/skills"), origin);
            self.commands(&name, &format!("{home}/commands"), origin);
        }
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
        assert_eq!(agents[0].name, "judge");
    }
}
