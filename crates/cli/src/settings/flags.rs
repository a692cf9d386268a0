//! The flags that set something, made from the table.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};

use super::key::{KEYS, Key};
use super::value::Shape;

const CONFIG: &str = "config";

/// What was set on the command line. Goes into a clap struct with `#[command(flatten)]`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    /// The only `deft.toml` to read.
    pub(crate) config: Option<PathBuf>,
    by_key: BTreeMap<&'static str, String>,
}

impl Flags {
    /// Whether the flag of a setting was given.
    pub(crate) fn has(&self, setting: &str) -> bool {
        self.by_key.contains_key(setting)
    }

    /// The flags that were given: setting, name without dashes, value.
    pub(super) fn given(&self) -> impl Iterator<Item = (&'static Key, &'static str, &str)> {
        KEYS.iter()
            .filter_map(|key| Some((key, key.flag?, self.by_key.get(key.name)?.as_str())))
    }
}

impl Args for Flags {
    fn augment_args(command: Command) -> Command {
        let config = Arg::new(CONFIG)
            .long(CONFIG)
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("Read this file instead of the deft.toml of the project and of ~/.deft");
        let settings = KEYS.iter().filter_map(|key| {
            let value_name = match key.shape {
                Shape::Text => "TEXT",
                Shape::Number => "NUMBER",
            };
            let default = key
                .default
                .map(|text| format!(" [default: {text}]"))
                .unwrap_or_default();
            let help = format!("{} [env: {}]{default}", key.about, key.env.join(", "));
            Some(
                Arg::new(key.name)
                    .long(key.flag?)
                    .value_name(value_name)
                    .help(help),
            )
        });
        command.next_help_heading("Settings").arg(config).args(settings)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        if let Some(path) = matches.get_one::<PathBuf>(CONFIG) {
            self.config = Some(path.clone());
        }
        for key in KEYS.iter().filter(|key| key.flag.is_some()) {
            if let Some(text) = matches.get_one::<String>(key.name) {
                self.by_key.insert(key.name, text.clone());
            }
        }
        Ok(())
    }
}
