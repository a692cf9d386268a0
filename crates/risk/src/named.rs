//! The files that a command names, and where it leads.

use std::collections::BTreeSet;

use crate::place::{Site, absolute};
use crate::shell::{self, Simple, Word};

/// Files of one command that are told.
const MAX_NAMED: usize = 64;
/// Programs that run nothing of the files they are given.
const LOOKERS: &[&str] = &[
    "[", "cd", "cmp", "diff", "du", "echo", "exit", "file", "grep", "ls", "mkdir", "printf", "return", "rm",
    "rmdir", "stat", "test", "touch", "wc",
];
/// What git does without running anything of what it is given; `bisect run` and `rebase --exec` do.
const LOOKS_OF_GIT: &[&str] = &[
    "add",
    "commit",
    "diff",
    "log",
    "ls-files",
    "rev-parse",
    "show",
    "status",
];

/// What stands around a path in a program that is an argument: `require('./a.js')`.
const QUOTES: &[char] = &['"', '\''];

/// Where the shell stands behind a command; none where that shows only when it runs.
pub fn directory_behind(command: &str, site: Site<'_>) -> Option<String> {
    shell::read(command, site).directory
}

/// The paths that a command for the shell names, from the root, as far as they are known before it runs. The shell stands in
/// `directory`. Other words than paths may be among them, such as a pattern to search for.
pub fn named_paths(command: &str, directory: &str) -> Vec<String> {
    let is_one_word = |word: &&Word| !word.text.starts_with('-') && !word.text.contains(char::is_whitespace);
    paths(command, directory, |command| {
        let redirected = command.redirects.iter().map(|redirect| &redirect.target);
        let named = started(command).chain(arguments(command)).chain(redirected);
        let named = named.filter(is_one_word);
        named.map(|word| word.text.as_str()).collect()
    })
}

/// The same of those alone that it may run: not what it only looks at, and not what it writes.
pub fn paths_to_run(command: &str, directory: &str) -> Vec<String> {
    paths(command, directory, |command| {
        let given = arguments(command).filter(|_| !only_looks(command));
        let read = command.redirects.iter().filter(|redirect| !redirect.writes);
        let read = read.map(|redirect| &redirect.target);
        let set = command.assignments.iter().map(|(_, value)| value);
        let named = started(command).chain(given).chain(read).chain(set);
        let words = named.map(|word| without_option(&word.text));
        words.flat_map(|word| word.split(QUOTES)).collect()
    })
}

fn paths(command: &str, directory: &str, named: impl Fn(&Simple) -> Vec<&str>) -> Vec<String> {
    let script = shell::read(command, directory);
    let mut found = BTreeSet::new();
    for command in &script.commands {
        // After a `cd` that leads nobody knows where it may as well be the one it was.
        let directory = command.directory.as_deref().unwrap_or(directory);
        let named = named(command).into_iter().filter(|path| !path.is_empty());
        found.extend(named.map(|path| absolute(path, directory)));
    }
    found.into_iter().take(MAX_NAMED).collect()
}

/// The program, where it is named by its path.
fn started(command: &Simple) -> impl Iterator<Item = &Word> {
    let program = command.words.first();
    program
        .into_iter()
        .filter(|program| program.is_known() && program.text.contains('/'))
}

fn only_looks(command: &Simple) -> bool {
    match command.verb() {
        "git" => command
            .words
            .get(1)
            .is_some_and(|word| LOOKS_OF_GIT.contains(&word.text.as_str())),
        verb => LOOKERS.contains(&verb),
    }
}

fn arguments(command: &Simple) -> impl Iterator<Item = &Word> {
    command.words.iter().skip(1).filter(|word| word.is_known())
}

/// `--config=a.js` names `a.js`.
fn without_option(word: &str) -> &str {
    match word.strip_prefix('-') {
        Some(option) => option.split_once('=').map_or("", |(_, value)| value),
        None => word,
    }
}
