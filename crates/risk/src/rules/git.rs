//! Settings that make git start programs, beside those that the table knows.

use super::operands;
use crate::shell::Simple;

/// How the names end of settings whose value git runs.
const RUN: &[&str] = &[
    "pager",
    "editor",
    "askpass",
    "helper",
    "external",
    "program",
    "textconv",
    "driver",
    "clean",
    "smudge",
    "process",
    "cmd",
    "fsmonitor",
    "gitproxy",
    "packobjectshook",
];
/// What changes nothing.
const HARMLESS: &[&str] = &["", "cat", "less", "true", "false", ":", "store", "cache"];

/// The programs that a command sets for git to run: for itself by `-c name=value`, or for good by `config name value`.
pub(super) fn set_for_git(command: &Simple) -> Vec<&str> {
    if command.verb() != "git" {
        return Vec::new();
    }
    let texts = || command.words.iter().map(|word| word.text.as_str());
    let options = texts().zip(texts().skip(1));
    let for_itself = options
        .filter(|(option, _)| *option == "-c")
        .filter_map(|(_, set)| set.split_once('='));
    let named = || operands(command).map(|word| word.text.as_str());
    let named = || named().skip_while(|word| *word != "config");
    let stored = named().zip(named().skip(1));
    let is_run = |(name, value): &(&str, &str)| {
        let name = name.to_lowercase();
        let runs = RUN.iter().any(|end| name.ends_with(end)) && !HARMLESS.contains(value);
        runs || (name.starts_with("alias.") && value.starts_with('!'))
    };
    for_itself
        .chain(stored)
        .filter(is_run)
        .map(|(_, value)| value)
        .collect()
}
