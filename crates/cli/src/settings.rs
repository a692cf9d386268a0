//! What the user has set: flags over environment over `deft.toml` over defaults, each value with where it
//! comes from.
//!
//! One table, in `key`, drives it all: flags and their help, environment variables, keys of the file,
//! defaults, what `deft config` shows, and what a project's file may say. That file comes with a repository,
//! so it is not trusted: it must not redirect a key to another server. Begin reading at [`Settings::load`].

mod data_dir;
mod error;
mod file;
mod flags;
mod key;
mod mcp;
mod models;
mod sandbox;
mod show;
mod sign_in;
mod source;
mod value;
mod web;
mod webhooks;

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use anyhow::Context;
use deft_server::{SignInSettings, Webhook};

pub(crate) use self::data_dir::prepare_data_dir;
pub(crate) use self::error::SettingsError;
pub(crate) use self::flags::Flags;
use self::key::{FromProject, KEYS, Key};
pub(crate) use self::key::{MODELS_IN_FILES, Settings};
pub(crate) use self::mcp::McpTables;
pub(crate) use self::models::{ModelTable, ModelTables};
pub(crate) use self::sandbox::NetworkMode;
pub(crate) use self::source::{FileOwner, Setting, Source};
pub(crate) use self::value::{BaseUrl, Durability};
use self::value::{Place, Value};
pub(crate) use self::web::WebAddresses;

/// The file's name in a project and in the user's directory.
const FILE_NAME: &str = "deft.toml";
/// The user's own directory, in their home.
pub(crate) const USER_DIR: &str = ".deft";

/// What the process finds around it. Passed in, so that nothing else reads the environment.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    /// The environment variables.
    pub(crate) env: BTreeMap<String, String>,
    /// The user's home directory, if there is one.
    pub(crate) home: Option<PathBuf>,
    /// What relative paths of flags and variables start from.
    pub(crate) current_dir: PathBuf,
}

impl Surroundings {
    /// Those of this process. A variable that is not UTF-8 counts as not set.
    pub(crate) fn of_this_process() -> anyhow::Result<Self> {
        Ok(Self {
            env: env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .collect(),
            home: env::home_dir().filter(|home| home.is_absolute()),
            current_dir: env::current_dir().context(
                "the current directory cannot be used; it may have been deleted: go to another one",
            )?,
        })
    }
}

impl Settings {
    /// Reads every layer, the weakest first. A mistake in a file is reported even where a stronger layer
    /// would hide it.
    pub(crate) fn load(
        flags: &Flags,
        surroundings: &Surroundings,
        workspace: &Path,
    ) -> Result<Self, SettingsError> {
        let mut layers = Layers {
            surroundings,
            chosen: BTreeMap::new(),
            models: ModelTables::new(),
            mcp_servers: McpTables::new(),
            webhooks: Vec::new(),
            sign_in: None,
        };
        layers.add_defaults();
        if let Some(path) = &flags.config {
            let path = surroundings.current_dir.join(path);
            layers.add_file(&path, FileOwner::User)?;
        } else {
            let users = surroundings
                .home
                .as_ref()
                .map(|home| home.join(USER_DIR).join(FILE_NAME));
            let projects = workspace.join(FILE_NAME);
            if let Some(path) = users.as_ref().filter(|path| path.exists()) {
                layers.add_file(path, FileOwner::User)?;
            }
            // While a sandbox runs, an empty directory keeps a missing one from being made.
            if projects.exists() && !projects.is_dir() && users.as_ref() != Some(&projects) {
                layers.add_file(&projects, FileOwner::Project)?;
            }
        }
        layers.add_environment()?;
        layers.add_flags(flags)?;
        Self::build(&layers)
    }
}

/// The strongest text seen so far for each key.
struct Layers<'a> {
    surroundings: &'a Surroundings,
    chosen: BTreeMap<&'static str, Chosen>,
    models: ModelTables,
    mcp_servers: McpTables,
    webhooks: Vec<Webhook>,
    sign_in: Option<SignInSettings>,
}

struct Chosen {
    text: String,
    source: Source,
    base: PathBuf,
}

impl Layers<'_> {
    fn add_defaults(&mut self) {
        let base = self.surroundings.current_dir.clone();
        for key in KEYS {
            if let Some(text) = key.default {
                let chosen = Chosen {
                    text: text.to_owned(),
                    source: Source::Default,
                    base: base.clone(),
                };
                self.chosen.insert(key.name, chosen);
            }
        }
    }

    fn add_file(&mut self, path: &Path, owner: FileOwner) -> Result<(), SettingsError> {
        let base = path.parent().unwrap_or(path).to_owned();
        let content = file::read(path, owner)?;
        self.models.extend(content.models);
        self.mcp_servers.extend(content.mcp_servers);
        self.webhooks.extend(content.webhooks);
        self.sign_in = content.sign_in.or(self.sign_in.take());
        for entry in content.entries {
            let source = Source::File {
                path: path.to_owned(),
                line: entry.line,
                owner,
            };
            let chosen = Chosen {
                text: entry.text,
                source,
                base: base.clone(),
            };
            if owner == FileOwner::Project {
                self.add_from_project(entry.key, chosen)?;
            } else {
                self.add(entry.key, chosen)?;
            }
        }
        Ok(())
    }

    fn add_from_project(&mut self, key: &'static Key, chosen: Chosen) -> Result<(), SettingsError> {
        let refused = |what| SettingsError::RefusedFromProject {
            place: chosen.source.to_string(),
            what,
            variable: key.env[0],
        };
        match key.project {
            FromProject::Refused => return Err(refused(key.name.to_owned())),
            FromProject::TakenUnlessItStartsWith(prefixes) => {
                let text = chosen.text.trim().to_lowercase();
                if let Some(prefix) = prefixes.iter().find(|prefix| text.starts_with(**prefix)) {
                    return Err(refused(format!("a {} that starts with {prefix}", key.name)));
                }
            }
            FromProject::Lowers if self.users_own_is_lower(key, &chosen) => {
                return check(key, &chosen, self.surroundings);
            }
            FromProject::Taken | FromProject::Lowers => {}
        }
        self.add(key, chosen)
    }

    fn users_own_is_lower(&self, key: &Key, projects: &Chosen) -> bool {
        let number = |chosen: &Chosen| chosen.text.parse::<f64>().ok();
        let users_own = self.chosen.get(key.name);
        users_own.is_some_and(|own| number(own) <= number(projects))
    }

    fn add_environment(&mut self) -> Result<(), SettingsError> {
        for key in KEYS {
            // An empty variable is the shell's way to say that there is none.
            let set = |name: &&'static str| {
                let text = self.surroundings.env.get(*name)?;
                (!text.is_empty()).then(|| (*name, text.clone()))
            };
            if let Some((name, text)) = key.env.iter().find_map(set) {
                self.add_text(key, text, Source::Environment(name))?;
            }
        }
        Ok(())
    }

    fn add_flags(&mut self, flags: &Flags) -> Result<(), SettingsError> {
        for (key, flag, text) in flags.given() {
            self.add_text(key, text.to_owned(), Source::Flag(flag))?;
        }
        Ok(())
    }

    fn add_text(&mut self, key: &'static Key, text: String, source: Source) -> Result<(), SettingsError> {
        let base = self.surroundings.current_dir.clone();
        self.add(key, Chosen { text, source, base })
    }

    fn add(&mut self, key: &'static Key, chosen: Chosen) -> Result<(), SettingsError> {
        check(key, &chosen, self.surroundings)?;
        self.chosen.insert(key.name, chosen);
        Ok(())
    }

    /// The final value of a setting.
    fn setting<T: Value>(&self, name: &'static str) -> Result<Setting<T>, SettingsError> {
        let chosen = self.chosen.get(name);
        let value = match chosen {
            Some(chosen) => T::read(&chosen.text, &place(chosen, self.surroundings)),
            None => T::unset(),
        };
        // Only a default is unchecked by now, and only `~` in it may have no meaning.
        Ok(Setting {
            value: value.ok_or(SettingsError::NoHome { key: name })?,
            source: chosen.map_or(Source::Default, |chosen| chosen.source.clone()),
        })
    }
}

fn check(key: &Key, chosen: &Chosen, surroundings: &Surroundings) -> Result<(), SettingsError> {
    if (key.is_valid)(&chosen.text, &place(chosen, surroundings)) {
        return Ok(());
    }
    Err(SettingsError::WrongValue {
        place: chosen.source.to_string(),
        key: key.name,
        expected: key.expected,
        found: key.secrecy.quote(&chosen.text),
    })
}

fn place<'a>(chosen: &'a Chosen, surroundings: &'a Surroundings) -> Place<'a> {
    Place {
        home: surroundings.home.as_deref(),
        base: &chosen.base,
    }
}

#[cfg(test)]
mod tests;
