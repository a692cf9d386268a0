//! What words may not do that follow those of a rule: write to places of their own, or run something.

use crate::shell::{Simple, obeys_arguments};

/// Long options by which programs write a file or run something else. Programs take the beginnings of them, too.
const LONG: &[&str] = &[
    "--output",
    "--output-file",
    "--output-dir",
    "--output-directory",
    "--output-document",
    "--exec",
    "--exec-path",
    "--ext-diff",
    "--textconv",
    "--open-files-in-pager",
    "--upload-pack",
    "--receive-pack",
    "--config",
    "--config-env",
    "--pre",
    "--to-command",
    "--checkpoint-action",
    "--use-compress-program",
    "--compress-program",
    "--rsh",
    "--rsh-command",
    "--unzip-command",
    "--command",
    "--eval",
    "--script",
];

/// Short ones, of programs where they do that.
const SHORT: &[(&str, &[&str])] = &[
    ("git", &["-c", "-O", "-o"]),
    ("sort", &["-o"]),
    ("curl", &["-o", "-O", "-K", "-T"]),
    ("wget", &["-O", "-o", "-P", "-e"]),
    ("tar", &["-I", "-F"]),
    ("rsync", &["-e"]),
    ("scp", &["-o", "-S"]),
    ("zip", &["-T"]),
    ("fd", &["-x", "-X"]),
];

/// Shorter beginnings of long options stand for too many of them.
const SHORTEST: usize = "--xy".len();

/// Whether the words from `own` on change what the command does to the world.
pub(super) fn reach_further(command: &Simple, own: usize) -> bool {
    let extra = command.words.get(own..).unwrap_or_default();
    let verb = command.verb();
    if obeys_arguments(verb) {
        return !extra.is_empty();
    }
    let short = SHORT.iter().find(|(program, _)| *program == verb);
    let short = short.map_or(&[][..], |(_, options)| *options);
    extra.iter().any(|word| {
        let text = word.text.as_str();
        let name = text.split_once('=').map_or(text, |(name, _)| name);
        let is_long = name.len() >= SHORTEST && LONG.iter().any(|option| option.starts_with(name));
        (name.starts_with("--") && is_long) || short.iter().any(|option| text.starts_with(option))
    })
}
