//! One skill, read from its file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::dynamic::Invoked;
use crate::files::{directory_of, name_of};
use crate::front_matter::{self, FrontMatter};
use crate::problem::Fault;
use crate::registry::Declared;

/// Bytes of a skill's file.
const MAX_FILE: usize = 256 * 1024;
/// Characters of a name.
const MAX_NAME: usize = 64;

/// Instructions, and when they are given.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Skill {
    /// What it is called by.
    pub name: String,
    /// When to use it.
    pub description: Option<String>,
    /// When the model gets to read it.
    pub kind: Kind,
    /// Whose it is.
    pub origin: Origin,
    /// Its file.
    pub path: String,
    /// The instructions.
    #[serde(skip)]
    pub body: String,
    /// Words that bring it in.
    pub triggers: Vec<String>,
    /// What it wants to know before it can be followed.
    pub inputs: Vec<Input>,
    /// Patterns of files that bring it in.
    pub paths: Vec<String>,
    /// Files that belong to it, seen from its folder.
    pub resources: Vec<String>,
    /// Addresses of the web that belong to it, such as documentation.
    pub urls: Vec<String>,
    /// MCP servers that it wants, by name; of a microagent, and programs only. Secrets can stand there.
    #[serde(skip)]
    pub servers: Map<String, Value>,
    /// The tools that it is written for, as it says itself. Nobody is held to that, and nothing is allowed by it.
    pub allowed_tools: Vec<String>,
    /// Whether only people may call it.
    pub disable_model_invocation: bool,
    /// Its licence.
    pub license: Option<String>,
    /// What it needs to work.
    pub compatibility: Option<String>,
    /// What else is said of it.
    pub metadata: BTreeMap<String, String>,
    /// What it can do, wants and gives.
    pub declared: Declared,
}

/// When the model gets to read a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// When it asks for it: a `SKILL.md` with its folder.
    Agent,
    /// Always.
    Repo,
    /// When a word is said.
    Knowledge,
    /// When a word is said; wants to know things first.
    Task,
    /// When a file is touched.
    PathRule,
}

/// Whose a skill is. What the project says counts more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The repository's.
    Project,
    /// The user's own.
    User,
    /// Sent by a client of the server, which may have it from anywhere.
    Client,
}

/// What a task wants to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// What it is.
    #[serde(default)]
    pub description: String,
}

impl Skill {
    /// Reads a file. `default_name` is the name of one that has no right to choose: all but `SKILL.md`.
    pub(crate) fn parse(
        path: &str,
        text: &str,
        default_name: &str,
        origin: Origin,
    ) -> Result<(Self, Vec<Fault>), Fault> {
        if text.len() > MAX_FILE {
            return Err(Fault::TooLong {
                bytes: text.len(),
                limit: MAX_FILE,
            });
        }
        let (front, body) = front_matter::parse(text)?;
        let mut faults = Vec::new();
        let is_folder = is_skill_file(path);
        let name = if is_folder {
            folder_name(path, &front)?
        } else {
            default_name.to_owned()
        };
        let FrontMatter {
            triggers,
            inputs,
            paths,
            ..
        } = front;
        let mut triggers = triggers.split(|char| char == ',');
        let paths = paths.split(|char| char == ',');
        if is_folder && front.description.is_none() {
            faults.push(Fault::NoDescription);
        }
        let has_others = !triggers.is_empty() || !inputs.is_empty();
        if has_others && !paths.is_empty() {
            faults.push(Fault::TriggersIgnored);
        }
        let declared = Declared::new(
            front.capabilities.split(|char| char == ','),
            front.input_schema,
            front.output_schema,
            &inputs,
        )?;
        let kind = match (paths.is_empty(), inputs.is_empty(), triggers.is_empty()) {
            (false, _, _) => Kind::PathRule,
            (true, _, _) if is_folder => Kind::Agent,
            (true, false, _) => Kind::Task,
            (true, true, false) => Kind::Knowledge,
            (true, true, true) => Kind::Repo,
        };
        let command = format!("/{name}");
        if !inputs.is_empty() && !triggers.contains(&command) {
            triggers.push(command);
        }
        let as_text = |value: Value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let skill = Self {
            name,
            description: front.description,
            kind,
            origin,
            path: path.to_owned(),
            body: body.to_owned(),
            triggers,
            inputs,
            paths,
            resources: Vec::new(),
            urls: front.urls.split(|char| char == ',' || char.is_whitespace()),
            servers: if is_folder {
                Map::new()
            } else {
                microagent_servers(&front.mcp_tools)
            },
            allowed_tools: front
                .allowed_tools
                .split(|char| char == ',' || char.is_whitespace()),
            disable_model_invocation: front.disable_model_invocation,
            license: front.license,
            compatibility: front.compatibility,
            metadata: front
                .metadata
                .into_iter()
                .map(|(key, value)| (key, as_text(value)))
                .collect(),
            declared,
        };
        Ok((skill, faults))
    }

    /// Whether commands stand in its text whose output is to take their place.
    pub fn runs_commands(&self) -> bool {
        !Invoked::new(&self.body, "").commands.is_empty()
    }

    /// The folder that it lies in.
    pub fn folder(&self) -> &str {
        directory_of(&self.path)
    }
}

/// The servers of a microagent: a map, also under `mcpServers`, or a list of `stdio_servers` with names.
fn microagent_servers(written: &Value) -> Map<String, Value> {
    let listed = written["stdio_servers"].as_array().into_iter().flatten();
    let listed = listed.filter_map(|server| Some((server["name"].as_str()?.to_owned(), server.clone())));
    let named = written.get("mcpServers").unwrap_or(written).as_object();
    let named = named.into_iter().flatten();
    let named = named.map(|(name, server)| (name.clone(), server.clone()));
    let servers = named.chain(listed);
    servers
        .filter(|(_, server)| server["command"].is_string())
        .collect()
}

/// Whether a file is a `SKILL.md`.
pub(crate) fn is_skill_file(path: &str) -> bool {
    name_of(path).eq_ignore_ascii_case("skill.md")
}

fn folder_name(path: &str, front: &FrontMatter) -> Result<String, Fault> {
    let folder = name_of(directory_of(path));
    let name = front.name.as_deref().unwrap_or(folder);
    let is_part = |part: &str| {
        !part.is_empty()
            && part
                .chars()
                .all(|char| char.is_ascii_lowercase() || char.is_ascii_digit())
    };
    if name.len() > MAX_NAME || !name.split('-').all(is_part) {
        return Err(Fault::BadName {
            name: name.to_owned(),
        });
    }
    if name != folder {
        return Err(Fault::NotItsFolder {
            name: name.to_owned(),
            folder: folder.to_owned(),
        });
    }
    Ok(name.to_owned())
}
