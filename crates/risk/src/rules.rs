//! What is dangerous about commands: `table.rs` says what single programs do, `flow.rs` what goes from one to the
//! next, `writes.rs` what lands in files, `packages.rs` what is installed.

mod flow;
mod git;
mod packages;
mod sed;
mod table;
mod writes;

use deft_types::SecurityRisk::{High, Unknown};

use self::table::{Row, TABLE, Target};
pub(crate) use self::writes::written;
use crate::place::{self, Place};
use crate::shell::{Origin, Script, Simple, Word};
use crate::verdict::Finding;

/// Options that do harm whatever the program is.
const DESTRUCTIVE: &[&str] = &[
    "-rf",
    "-fr",
    "-Rf",
    "-fR",
    "-r",
    "-R",
    "-f",
    "--force",
    "--recursive",
    "-delete",
    "-exec",
];

/// Options of git itself that have a value.
const GIT_VALUED: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--exec-path",
];

/// Everything that is wrong with a script.
pub(crate) fn judge(script: &Script, workspace: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let whole = flow::whole(script);
    for command in &script.commands {
        let rows = TABLE.iter().filter(|row| row.fits(command, workspace));
        found.extend(rows.map(|row| Finding::new(row.strength, row.risk, row.rule, row.reason)));
        found.extend(flow::judge(command, script, &whole));
        found.extend(writes::judge(command, workspace));
        found.extend(unresolved(command));
        found.extend(packages::judge(command));
    }
    if script.fork_bomb {
        found.push(Finding::rail(
            High,
            "fork-bomb",
            "A function starts itself again and again until the machine stops.",
        ));
    }
    if script.unclear {
        found.push(Finding::pattern(
            Unknown,
            "unclear",
            "Part of the command cannot be understood.",
        ));
    }
    if script.unseen {
        let reason = "It is too long to judge, or too deeply nested.";
        found.push(Finding::rail(High, "too-long", reason));
    }
    found
}

/// A program that is known only when it runs.
fn unresolved(command: &Simple) -> Option<Finding> {
    let verb = command.words.first()?;
    match verb.origin {
        Origin::Fetched | Origin::Decoded => {
            let reason = "It runs what another command fetches or deciphers, unseen.";
            Some(Finding::rail(High, "hidden-command", reason))
        }
        Origin::Open | Origin::Computed | Origin::Written => {
            let is_open = verb.origin == Origin::Open || verb.is_pattern;
            let harmful = |word: &Word| DESTRUCTIVE.contains(&word.text.as_str());
            let all_open = verb.text.is_empty() && command.words.len() == 1;
            let reason = "Which program it runs shows only when it runs.";
            (is_open && (all_open || command.words.iter().any(harmful)))
                .then(|| Finding::rail(Unknown, "unresolved-command", reason))
        }
    }
}

impl Row {
    fn fits(&self, command: &Simple, workspace: &str) -> bool {
        let verb = command.verb();
        let fits_verb = |name: &&str| match name.strip_suffix('*') {
            Some(start) => verb.starts_with(start),
            None => verb == *name,
        };
        let arguments = command.words.get(1..).unwrap_or_default();
        self.verbs.iter().any(fits_verb)
            && in_order(self.words, verb, arguments)
            && self
                .flags
                .iter()
                .all(|group| group.iter().any(|flag| has_flag(arguments, flag)))
            && !self.unless.iter().any(|flag| has_flag(arguments, flag))
            && self.target.fits(command, workspace)
    }
}

impl Target {
    fn fits(self, command: &Simple, workspace: &str) -> bool {
        let mut operands = operands(command);
        match self {
            Self::Any => true,
            Self::Some => operands.next().is_some(),
            Self::Open => operands.any(|word| !word.is_known()),
            Self::Containing(part) => command.words.iter().any(|word| word.text.contains(part)),
            Self::In(places) => operands.any(|word| is_in(places, word, command, workspace)),
            Self::From(places) => {
                let mut sources: Vec<_> = operands.collect();
                if !has_flag(&command.words, "-t") && !has_flag(&command.words, "--target-directory") {
                    sources.pop();
                }
                sources
                    .into_iter()
                    .any(|word| is_in(places, word, command, workspace))
            }
        }
    }
}

fn is_in(places: &[Place], word: &Word, command: &Simple, workspace: &str) -> bool {
    let text = word.text.as_str();
    let named = text.split_once('=').map_or(text, |(_, value)| value);
    place_of(named, word, command, workspace).is_some_and(|place| places.contains(&place))
}

/// The place that a word names, as far as it is known.
fn place_of(text: &str, word: &Word, command: &Simple, workspace: &str) -> Option<Place> {
    let directory = command.directory.as_deref();
    if !word.is_known() || text.is_empty() || (directory.is_none() && !text.starts_with('/')) {
        return None;
    }
    Some(place::place(text, directory.unwrap_or("/"), workspace))
}

/// The arguments that are no options.
fn operands(command: &Simple) -> impl Iterator<Item = &Word> {
    command
        .words
        .iter()
        .skip(1)
        .filter(|word| !word.text.starts_with('-') || word.text.len() == 1)
}

/// Whether the words stand among the arguments in this order, the first of git's at the first place. `a|b` is one
/// or the other, `a*` what begins so.
fn in_order(words: &[&str], verb: &str, arguments: &[Word]) -> bool {
    let fits = |wanted: &str, word: &str| {
        wanted.split('|').any(|choice| match choice.strip_suffix('*') {
            Some(start) => word.starts_with(start),
            None => choice == word,
        })
    };
    let mut rest = arguments;
    if verb == "git" {
        while let Some((word, more)) = rest.split_first().filter(|(word, _)| word.text.starts_with('-')) {
            rest = if GIT_VALUED.contains(&word.text.as_str()) {
                more.get(1..).unwrap_or_default()
            } else {
                more
            };
        }
        if let (Some(wanted), Some(command)) = (words.first(), rest.first())
            && !fits(wanted, &command.text)
        {
            return false;
        }
    }
    let mut arguments = rest.iter().filter(|word| !word.text.starts_with('-'));
    words
        .iter()
        .all(|wanted| arguments.any(|word| fits(wanted, &word.text)))
}

/// Whether an option is given: `-r` also within `-rf`, `--recursive` also cut short or with a value.
fn has_flag(arguments: &[Word], flag: &str) -> bool {
    arguments.iter().map(|word| word.text.as_str()).any(|word| {
        let bare = word.split_once('=').map_or(word, |(name, _)| name);
        if let Some(name) = flag.strip_prefix("--") {
            bare.strip_prefix("--")
                .is_some_and(|given| given == name || (given.len() > 2 && name.starts_with(given)))
        } else if flag.len() == 2 && !flag.ends_with(|letter: char| letter.is_ascii_digit()) {
            let letter = &flag[1..];
            word == flag || (word.starts_with('-') && !word.starts_with("--") && word[1..].contains(letter))
        } else {
            bare == flag
        }
    })
}
