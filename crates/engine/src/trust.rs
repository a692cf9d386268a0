//! What a repository brings along that would run by itself, and what a person has decided about it.
//!
//! A decision is bound to the very text, and to the scripts of the workspace that hooks and servers name: when one of them
//! changes, it has to be made again.

use std::collections::BTreeMap;

use deft_skills::{
    AgentDefinition, Files, Origin, PLUGIN_HOOKS, Roots, Skill, Skills, agents_of_project, with_root,
};
use deft_store::{Store, StoreError};
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::named_scripts;
use crate::plugin_servers::{files_of_plugins, files_of_servers};

/// Where a project keeps its hooks.
pub const HOOKS_FILE: &str = ".openhands/hooks.json";
/// Where decisions are kept, before the fingerprint.
const FOLDER: &str = "trust/";
/// How often a change is tried again when another was faster.
const MAX_TRIES: usize = 16;

/// Something of a repository that runs commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provided {
    /// What it is.
    pub kind: ProvidedKind,
    /// Its file, seen from the workspace.
    pub path: String,
    /// The digest of what it is, where and in which words.
    pub fingerprint: String,
    /// The scripts of the workspace that it names, seen from there: they run with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<String>,
}

/// What a repository can bring along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProvidedKind {
    /// Commands that run when the agent does something.
    Hooks,
    /// Instructions with commands in them.
    Skill,
    /// Agents that can be given tasks.
    Agent,
    /// MCP servers.
    Servers,
}

impl ProvidedKind {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hooks => "hooks",
            Self::Skill => "skill",
            Self::Agent => "agent",
            Self::Servers => "MCP servers",
        }
    }
}

/// What a person has decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It may run.
    Allow,
    /// It may not, and is not asked about again.
    Deny,
}

/// What has been decided, by fingerprint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decisions(BTreeMap<String, Decision>);

impl Decisions {
    /// All that were ever made.
    pub async fn load(store: &dyn Store) -> Result<Self, StoreError> {
        let kept = store.documents(FOLDER).await?;
        let decisions = kept.into_iter().filter_map(|(key, text)| {
            let decision = serde_json::from_str(&text).ok()?; // a later version's is none
            Some((key.strip_prefix(FOLDER)?.to_owned(), decision))
        });
        Ok(Self(decisions.collect()))
    }

    /// What was decided about something.
    pub fn about(&self, fingerprint: &str) -> Option<Decision> {
        self.0.get(fingerprint).copied()
    }

    pub(crate) fn allow(&self, fingerprint: &str) -> bool {
        self.about(fingerprint) == Some(Decision::Allow)
    }
}

/// Keeps a decision, or forgets it.
pub async fn decide(
    store: &dyn Store,
    fingerprint: &str,
    decision: Option<Decision>,
) -> Result<(), StoreError> {
    let key = format!("{FOLDER}{fingerprint}");
    let after = decision.map(|decision| json!(decision).to_string());
    for _ in 0..MAX_TRIES {
        let before = store.document(&key).await?;
        if store.swap_document(key.clone(), before, after.clone()).await? {
            break;
        }
    }
    Ok(())
}

/// What a workspace brings along, and the skills of the repository that it is a part of.
pub fn provided(files: &impl Files, workspace: &str, repository: Option<String>) -> Vec<Provided> {
    let skills = skills_of_project(files, workspace, repository);
    let skills = skills.all().iter();
    let skills = skills.filter_map(|skill| of_skill(files, skill, workspace));
    let agents = agents(files, workspace).into_iter().map(|(_, agent)| agent);
    hooks(files, workspace)
        .into_iter()
        .map(|(_, hooks)| hooks)
        .chain(skills)
        .chain(agents)
        .chain(servers(files, workspace).into_iter().map(|(_, servers)| servers))
        .collect()
}

/// The skills that a project brings along.
pub(crate) fn skills_of_project(files: &impl Files, workspace: &str, repository: Option<String>) -> Skills {
    let roots = Roots {
        workspace: Some(workspace.to_owned()),
        repository,
        ..Roots::default()
    };
    Skills::load(files, &roots).0
}

/// The texts of the hooks of a project and of its plugins.
pub(crate) fn hooks(files: &impl Files, workspace: &str) -> Vec<(String, Provided)> {
    let own = (workspace.to_owned(), format!("{workspace}/{HOOKS_FILE}"));
    let of_plugins = files_of_plugins(files, workspace, PLUGIN_HOOKS);
    let all = std::iter::once(own).chain(of_plugins);
    all.filter_map(|(home, path)| text_of(files, workspace, ProvidedKind::Hooks, &home, &path))
        .collect()
}

/// The texts that name the MCP servers of a project's plugins.
pub(crate) fn servers(files: &impl Files, workspace: &str) -> Vec<(String, Provided)> {
    let all = files_of_servers(files, workspace).into_iter();
    all.filter_map(|(home, path)| text_of(files, workspace, ProvidedKind::Servers, &home, &path))
        .collect()
}

/// The files of the workspace that hooks and servers may name.
pub(crate) fn scripts(files: &impl Files, workspace: &str, repository: Option<String>) -> Vec<String> {
    let texts = hooks(files, workspace)
        .into_iter()
        .chain(servers(files, workspace));
    let skills = skills_of_project(files, workspace, repository);
    let of_skills = skills.all().iter().flat_map(|skill| scripts_of(skill, workspace));
    let mut scripts: Vec<_> = texts
        .flat_map(|(text, _)| named_scripts::named_in(&text, workspace))
        .chain(of_skills)
        .collect();
    scripts.sort();
    scripts.dedup();
    scripts
}

/// What a file says, for whoever uses it in a folder; the decision is about its very text, and about the scripts of the
/// workspace that it names.
fn text_of(
    files: &impl Files,
    workspace: &str,
    kind: ProvidedKind,
    home: &str,
    path: &str,
) -> Option<(String, Provided)> {
    let text = files.read(path).ok()?;
    let used = with_root(&text, home);
    let scripts = named_scripts::named_in(&used, workspace);
    let provided = bound(kind, (path, text), scripts, files, workspace);
    Some((used, provided))
}

/// What a decision about a file is bound to: what it says, and those of the scripts that it names which are there.
fn bound(
    kind: ProvidedKind,
    (path, text): (&str, String),
    scripts: Vec<String>,
    files: &impl Files,
    workspace: &str,
) -> Provided {
    let path = inside(path, workspace);
    let scripts: Vec<_> = scripts
        .into_iter()
        .filter_map(|script| Some((files.read(&script).ok()?, script)))
        .collect();
    Provided {
        kind,
        fingerprint: fingerprint(kind, &path, &text, &scripts),
        path,
        scripts: scripts
            .iter()
            .map(|(_, script)| inside(script, workspace))
            .collect(),
    }
}

/// The files of the workspace that the servers of a skill may name.
fn scripts_of(skill: &Skill, workspace: &str) -> Vec<String> {
    named_scripts::named_by(skill.servers.values(), workspace)
}

/// Whether a skill may run what it brings along: the user's own may, the project's once somebody has agreed.
pub(crate) fn skill_may_run(
    skill: &Skill,
    provided: &[Provided],
    decisions: &Decisions,
    workspace: &str,
) -> bool {
    let path = inside(&skill.path, workspace);
    let is_its = |one: &&Provided| one.kind == ProvidedKind::Skill && one.path == path;
    match skill.origin {
        Origin::User => true,
        Origin::Client => false,
        Origin::Project => {
            let mut its = provided.iter().filter(is_its).peekable();
            // A file elsewhere may be called alike: what is agreed to of one is not agreed to of the other.
            its.peek().is_some() && its.all(|one| decisions.allow(&one.fingerprint))
        }
    }
}

/// A skill of the project that runs commands or brings servers along.
pub(crate) fn of_skill(files: &impl Files, skill: &Skill, workspace: &str) -> Option<Provided> {
    let runs = skill.runs_commands() || !skill.servers.is_empty();
    if skill.origin != Origin::Project || !runs {
        return None;
    }
    let text = match &skill.servers {
        none if none.is_empty() => skill.body.clone(),
        servers => json!([skill.body, servers]).to_string(),
    };
    let scripts = scripts_of(skill, workspace);
    let kind = ProvidedKind::Skill;
    Some(bound(kind, (&skill.path, text), scripts, files, workspace))
}

/// The agents that a project defines.
pub(crate) fn agents(files: &impl Files, workspace: &str) -> Vec<(AgentDefinition, Provided)> {
    let with_entry = |agent: AgentDefinition| {
        let text = files.read(&agent.path).unwrap_or_default();
        let file = (agent.path.as_str(), text);
        let provided = bound(ProvidedKind::Agent, file, Vec::new(), files, workspace);
        (agent, provided)
    };
    let agents = agents_of_project(files, workspace).into_iter().flatten();
    agents.map(with_entry).collect()
}

/// A path, seen from the workspace.
fn inside(path: &str, workspace: &str) -> String {
    let inside = path.strip_prefix(workspace).unwrap_or(path);
    inside.trim_start_matches('/').to_owned()
}

/// Of a text, and of the scripts that it names with their paths.
fn fingerprint(kind: ProvidedKind, path: &str, text: &str, scripts: &[(String, String)]) -> String {
    let mut whole = vec![json!(kind), json!(path), json!(text)];
    whole.extend(scripts.iter().map(|script| json!(script)));
    let whole = json!(whole).to_string();
    let digest = digest(&SHA256, whole.as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_of_the_repository_above_runs_nothing_for_one_that_is_called_like_it() {
        let skill = |path: &str| Skill {
            origin: Origin::Project,
            path: path.to_owned(),
            ..deft_skills::sent(&json!({"name": "ship", "content": "!`make`"})).unwrap()
        };
        let provided = |fingerprint: &str| Provided {
            kind: ProvidedKind::Skill,
            path: "repo/skills/ship.md".to_owned(),
            fingerprint: fingerprint.to_owned(),
            scripts: Vec::new(),
        };
        let agreed = Decisions(BTreeMap::from([("1".to_owned(), Decision::Allow)]));
        let may_run = |provided: &[Provided]| {
            let paths = ["/repo/skills/ship.md", "/repo/sub/repo/skills/ship.md"];
            paths.map(|path| skill_may_run(&skill(path), provided, &agreed, "/repo/sub"))
        };
        assert_eq!(may_run(&[provided("1")]), [true, true]);
        assert_eq!(may_run(&[provided("1"), provided("2")]), [false, false]);
        assert_eq!(may_run(&[]), [false, false]);
    }
}
