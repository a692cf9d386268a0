//! What a person has allowed once and for all, by the beginning of a command.

mod extras;

use deft_types::{Action, ActionEvent, SecurityRisk};

use crate::assess::risk_of;
use crate::place::Site;
use crate::shell::{self, Origin, Script, Simple, Word, is_wrapper, runs_others};
use crate::visible::deceives;

/// A command that may run without asking, with whatever follows its words.
#[derive(Clone, Debug)]
pub struct AllowRule {
    text: String,
    /// The command, and those that it runs.
    commands: Vec<Simple>,
}

/// Why a rule cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAllowRule {
    /// Nothing is named.
    #[error("an allow rule must name a command, such as `git commit`")]
    Empty,
    /// It is several commands.
    #[error("`{0}` is more than one command; make a rule of each")]
    Several(String),
    /// It is not certain what it names.
    #[error(
        "`{0}` names something that is known only when it runs; write it out without variables and patterns"
    )]
    Open(String),
    /// It would allow everything.
    #[error(
        "`{0}` would allow any command at all; name the command that it runs, such as `timeout 60 cargo test`"
    )]
    Everything(String),
}

impl AllowRule {
    /// Reads a rule, such as `git commit`.
    pub fn parse(text: &str) -> Result<Self, BadAllowRule> {
        let own = || text.to_owned();
        let Script {
            commands,
            unclear,
            unseen,
            fork_bomb,
            directory: _,
        } = shell::read(text, "/");
        let Some(first) = commands.first().filter(|command| !command.words.is_empty()) else {
            return Err(BadAllowRule::Empty);
        };
        if commands.iter().skip(1).any(|command| !command.is_inner) {
            return Err(BadAllowRule::Several(own()));
        }
        if unclear || unseen || fork_bomb || deceives(text) || !is_plain(first) {
            return Err(BadAllowRule::Open(own()));
        }
        let last = commands.last().unwrap_or(first);
        let names_command = last.words.iter().skip(1).any(|word| !word.text.starts_with('-'));
        if is_wrapper(last.verb()) || (runs_others(last.verb()) && !names_command) {
            return Err(BadAllowRule::Everything(own()));
        }
        Ok(Self {
            text: text.trim().to_owned(),
            commands,
        })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    fn covers(&self, command: &Simple) -> bool {
        self.commands.iter().any(|allowed| {
            command.words.len() >= allowed.words.len()
                && allowed
                    .words
                    .iter()
                    .zip(&command.words)
                    .all(|(allowed, word)| allowed.text == word.text)
                && command
                    .assignments
                    .iter()
                    .all(|one| allowed.assignments.contains(one))
                && command
                    .redirects
                    .iter()
                    .all(|one| allowed.redirects.contains(one))
                && !extras::reach_further(command, allowed.words.len())
        })
    }
}

/// Whether rules cover every command of an action, and it is not worse where it is given than what they name is in the
/// workspace. Only a command for the terminal can be covered.
pub fn allows<'a>(rules: &[AllowRule], action: &ActionEvent, site: impl Into<Site<'a>>) -> bool {
    let site = site.into();
    let Some(Action::Terminal(terminal)) = &action.action else {
        return false;
    };
    if terminal.is_input || terminal.reset || deceives(&terminal.command) {
        return false; // what a running program makes of its input is not known
    }
    let script = shell::read(&terminal.command, "/");
    if script.commands.is_empty() || script.unclear || script.unseen || script.fork_bomb {
        return false;
    }
    let mut worst_named = SecurityRisk::Unknown; // the least of them in order
    for command in &script.commands {
        let covering = rules.iter().filter(|rule| rule.covers(command));
        let named = covering
            .map(|rule| risk_of(&rule.text, site.workspace.into()))
            .max();
        match named.filter(|_| is_plain(command)) {
            Some(named) => worst_named = worst_named.max(named),
            None => return false,
        }
    }
    risk_of(&terminal.command, site) <= worst_named
}

/// Whether all its words are as they are written: no substitution, no variable; and no text is fed to it or run by it.
fn is_plain(command: &Simple) -> bool {
    let plain = |word: &Word| word.origin == Origin::Written;
    command.words.iter().all(plain)
        && command.words.first().is_none_or(|verb| !verb.is_pattern)
        && command.redirects.iter().all(|redirect| plain(&redirect.target))
        && command.assignments.iter().all(|(_, value)| plain(value))
        && command.fed.is_empty()
        && command.program.is_empty()
}
