//! Reads `deft.toml`: flat keys, each known, each of the right TOML type. A table is another way to write keys that
//! begin alike.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use deft_server::{SignInSettings, Webhook};
use deft_workspace::WorkspaceName;
use toml::de::{DeTable, DeValue};

use super::key::{KEYS, Key};
use super::mcp::{self, McpTables};
use super::models::{ModelTables, ModelsOnly};
use super::sign_in;
use super::value::Shape;
use super::webhooks::WebhooksOnly;
use super::{FileOwner, SettingsError, Source};

/// The longest file that is read.
const MAX_BYTES: u64 = 64 * 1024;
/// The setting that may be a table.
const WORKSPACE: &str = "workspace";
/// The table that holds a table for each MCP server.
const MCP_SERVERS: &str = "mcpServers";
/// The table that holds a table for each named model.
const MODELS: &str = "models";
/// The list of tables that holds one for each webhook.
const WEBHOOKS: &str = "webhooks";
/// The table that says how people sign in.
const SIGN_IN: &str = "oidc";
/// How much alike a mistyped key and a known one must be to suggest it; 1 is the same.
const ALIKE: f64 = 0.8;

/// One line of a file.
pub(super) struct Entry {
    pub(super) key: &'static Key,
    pub(super) text: String,
    pub(super) line: usize,
}

/// What a file says.
pub(super) struct Content {
    pub(super) entries: Vec<Entry>,
    pub(super) models: ModelTables,
    pub(super) mcp_servers: McpTables,
    pub(super) webhooks: Vec<Webhook>,
    pub(super) sign_in: Option<SignInSettings>,
}

/// Reads a file. What its entries say is not judged yet.
pub(super) fn read(path: &Path, owner: FileOwner) -> Result<Content, SettingsError> {
    let text = content(path)?;
    let line_at = |offset: usize| 1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count();
    let place = |line| {
        Source::File {
            path: path.to_owned(),
            line,
            owner,
        }
        .to_string()
    };

    let table = DeTable::parse(&text).map_err(|error| SettingsError::Syntax {
        place: place(line_at(error.span().map_or(0, |span| span.start))),
        reason: error.message().lines().collect::<Vec<_>>().join(", "),
    })?;
    let mut entries = Vec::new();
    let mut models = ModelTables::new();
    let mut mcp_servers = McpTables::new();
    let mut webhooks = Vec::new();
    let mut signs_in = None;
    for (name, value) in table.get_ref() {
        let line = line_at(name.span().start);
        let name: &str = name.get_ref();
        if name == MODELS {
            // A model's table says where its key is sent.
            if owner == FileOwner::Project {
                return Err(SettingsError::RefusedFromProject {
                    place: place(line),
                    what: MODELS.to_owned(),
                    variable: "DEFT_MODEL",
                });
            }
            let parsed: Result<ModelsOnly, _> = toml::from_str(&text);
            models = parsed
                .map_err(|error| SettingsError::WrongModel {
                    place: place(line_at(error.span().map_or(0, |span| span.start))),
                    reason: error.message().lines().collect::<Vec<_>>().join(", "),
                })?
                .models;
            continue;
        }
        if name == MCP_SERVERS {
            // A server is a program that is run, or an address that is told things.
            if owner == FileOwner::Project {
                return Err(SettingsError::RefusedFromProject {
                    place: place(line),
                    what: MCP_SERVERS.to_owned(),
                    variable: "DEFT_MCP_CONFIG",
                });
            }
            mcp_servers = mcp::read(&text).map_err(|reason| SettingsError::WrongServer {
                place: place(line),
                reason,
            })?;
            continue;
        }
        if name == WEBHOOKS {
            // Whoever is told of all that happens.
            if owner == FileOwner::Project {
                return Err(SettingsError::RefusedFromProject {
                    place: place(line),
                    what: WEBHOOKS.to_owned(),
                    variable: "OH_WEBHOOKS",
                });
            }
            let parsed: Result<WebhooksOnly, _> = toml::from_str(&text);
            webhooks = parsed
                .map_err(|error| SettingsError::WrongWebhook {
                    place: place(line_at(error.span().map_or(0, |span| span.start))),
                    reason: error.message().lines().collect::<Vec<_>>().join(", "),
                })?
                .webhooks;
            continue;
        }
        if name == SIGN_IN {
            signs_in =
                Some(sign_in::read(&text, owner).map_err(|reason| wrong_sign_in(place(line), reason))?);
            continue;
        }
        if name == WORKSPACE
            && let Some(entry) = typed_workspace(&text, line)
        {
            let place = place(line);
            entries.push(entry.map_err(|reason| SettingsError::WrongWorkspace { place, reason })?);
            continue;
        }
        let Some(table) = value.get_ref().as_table().filter(|table| holds_keys(name, table)) else {
            entries.push(entry(name, value.get_ref(), line, &place)?);
            continue;
        };
        // `[condenser] model = …` is `condenser_model = …`.
        for (inner, value) in table {
            let line = line_at(inner.span().start);
            let name = format!("{name}_{}", inner.get_ref());
            entries.push(entry(&name, value.get_ref(), line, &place)?);
        }
    }
    Ok(Content {
        entries,
        models,
        mcp_servers,
        webhooks,
        sign_in: signs_in,
    })
}

fn wrong_sign_in(place: String, reason: String) -> SettingsError {
    SettingsError::WrongSignIn { place, reason }
}

/// Whether a table is another way to write keys that begin with its name. One with a `kind` is a workspace, or means to
/// be.
fn holds_keys(name: &str, table: &DeTable<'_>) -> bool {
    let begins_so = |key: &Key| {
        let rest = key.name.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with('_'))
    };
    let names_a_kind = || table.keys().any(|key| key.get_ref() == "kind");
    KEYS.iter().any(begins_so) && !(name == WORKSPACE && names_a_kind())
}

fn entry(
    name: &str,
    value: &DeValue<'_>,
    line: usize,
    place: &dyn Fn(usize) -> String,
) -> Result<Entry, SettingsError> {
    let Some(key) = KEYS.iter().find(|key| key.name == name) else {
        return Err(SettingsError::UnknownKey {
            place: place(line),
            key: name.to_owned(),
            hint: hint(name),
        });
    };
    let Some(text) = scalar(value, key.shape) else {
        return Err(SettingsError::WrongValue {
            place: place(line),
            key: key.name,
            expected: key.expected,
            found: format!("of type {}", value.type_str()),
        });
    };
    Ok(Entry { key, text, line })
}

/// A repository may hold a pipe or a device under this name, which must not hang or fill the memory.
fn content(path: &Path) -> Result<String, SettingsError> {
    let unreadable = |source| SettingsError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let unfit = || SettingsError::NotASettingsFile {
        path: path.to_owned(),
        limit: MAX_BYTES,
    };
    let is_nothing = path
        .canonicalize()
        .is_ok_and(|real| real == Path::new("/dev/null"));
    if is_nothing {
        return Ok(String::new()); // how people say that there are to be no settings
    }
    if !path.metadata().map_err(unreadable)?.is_file() {
        return Err(unfit());
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(unfit());
    }
    String::from_utf8(bytes).map_err(|_| unfit())
}

/// A workspace that stands in the file as a table with its `kind`.
fn typed_workspace(text: &str, line: usize) -> Option<Result<Entry, String>> {
    #[derive(serde::Deserialize)]
    struct WorkspaceOnly {
        workspace: serde_json::Value,
    }
    let only: WorkspaceOnly = toml::from_str(text).ok()?;
    only.workspace.get("kind")?;
    let key = KEYS.iter().find(|key| key.name == WORKSPACE)?;
    let name = WorkspaceName::from_json(&only.workspace).map_err(|error| error.to_string());
    Some(name.map(|name| Entry {
        key,
        text: name.to_string(),
        line,
    }))
}

/// The text of a value of the right shape.
fn scalar(value: &DeValue<'_>, shape: Shape) -> Option<String> {
    match (shape, value) {
        (Shape::Text, DeValue::String(text)) => Some(text.to_string()),
        (Shape::Number, DeValue::Integer(number)) => i64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .map(|number| number.to_string()),
        (Shape::Number, DeValue::Float(number)) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

fn hint(name: &str) -> String {
    let nearest = KEYS
        .iter()
        .map(|key| (strsim::jaro_winkler(key.name, name), key.name))
        .filter(|(alike, _)| *alike >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((_, known)) => format!("did you mean {known}?"),
        None => format!(
            "known are {}",
            KEYS.iter().map(|key| key.name).collect::<Vec<_>>().join(", ")
        ),
    }
}
