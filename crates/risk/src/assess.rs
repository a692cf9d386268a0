//! Judges an action by what its tool does.

use deft_types::SecurityRisk::{High, Medium, Unknown};
use deft_types::{Action, ActionEvent, EditorCommand, Extra, SecurityRisk, text_of};
use serde_json::Value;

use crate::place::Site;
use crate::shell;
use crate::verdict::{Finding, Strength, Verdict};
use crate::visible::{deceives, visible};
use crate::{files, prose, rules};

/// Arguments under these names are commands, whoever the tool is from.
const COMMAND_NAMES: &[&str] = &["command", "cmd", "script", "shell", "bash", "commands"];
/// Strings of one call that are looked at: commands, and others.
const MAX_STRINGS: usize = 256;

/// Which rules to judge by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleSet {
    /// All of them.
    Patterns,
    /// Only those on what nobody ever wants.
    Rails,
}

/// Judges an action by all rules.
pub fn assess<'a>(action: &ActionEvent, site: impl Into<Site<'a>>) -> Verdict {
    RuleSet::Patterns.assess(action, site)
}

impl RuleSet {
    /// Judges an action by these rules.
    pub fn assess<'a>(self, action: &ActionEvent, site: impl Into<Site<'a>>) -> Verdict {
        let counts = |finding: &Finding| self == Self::Patterns || finding.strength == Strength::Rail;
        let found = findings(action, site.into()).into_iter().filter(counts);
        found
            .map(|finding| finding.verdict)
            .fold(Verdict::harmless(), Verdict::or_worse)
    }
}

fn findings(event: &ActionEvent, site: Site<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let thought = text_of(&event.thought);
    let said = [thought.as_str(), event.summary.as_deref().unwrap_or_default()];
    found.extend(prose::judge(said.into_iter()));
    let Some(action) = &event.action else {
        return found;
    };
    found.extend(by_tool(action, &event.tool_name, site));
    found
}

fn by_tool(action: &Action, tool: &str, site: Site<'_>) -> Vec<Finding> {
    let workspace = site.workspace;
    match action {
        Action::Terminal(terminal) => command(&terminal.command, site),
        Action::FileEditor(edit) => edited(edit.command, &edit.path, workspace),
        Action::PlanningFileEditor(edit) => edited(edit.command, &edit.path, workspace),
        Action::Edit(edit) => files::write(&edit.file_path, workspace),
        Action::WriteFile(write) => files::write(&write.file_path, workspace),
        Action::ApplyPatch(patch) => files::patch(&patch.patch, workspace),
        Action::ReadFile(read) => files::read(&read.file_path, workspace),
        Action::ListDirectory(list) => files::read(&list.dir_path, workspace),
        Action::Glob(glob) => files::read(glob.path.as_deref().unwrap_or_default(), workspace),
        Action::Grep(grep) => files::read(grep.path.as_deref().unwrap_or_default(), workspace),
        Action::MCPTool(call) => {
            let mut found = outside("It calls a tool of another program.");
            found.extend(arguments(&call.data, workspace));
            found
        }
        Action::BrowserNavigate(_) => outside("It opens a page, and tells the server so."),
        Action::BrowserClick(_) | Action::BrowserType(_) | Action::BrowserSetStorage(_) => {
            outside("It acts on a page, in the user's name if they are logged in.")
        }
        Action::BrowserGetStorage(_) => outside("It reads what pages have stored, logins too."),
        Action::Workflow(_) => outside("It runs a script that drives other agents."),
        Action::Unknown(unknown) => of_others(tool, &unknown.fields, workspace),
        Action::Browser(_)
        | Action::BrowserCloseTab(_)
        | Action::BrowserGetContent(_)
        | Action::BrowserGetState(_)
        | Action::BrowserGoBack(_)
        | Action::BrowserListTabs(_)
        | Action::BrowserScroll(_)
        | Action::BrowserStartRecording(_)
        | Action::BrowserStopRecording(_)
        | Action::BrowserSwitchTab(_)
        | Action::ClassifyAndSwitchLLM(_)
        | Action::Finish(_)
        | Action::InvokeSkill(_)
        | Action::SwitchLLM(_)
        | Action::Think(_)
        | Action::VisionInspect(_)
        | Action::AskOracle(_)
        | Action::StartChildConversation(_)
        | Action::Delegate(_)
        | Action::Task(_)
        | Action::TaskTracker(_)
        | Action::ConsultTom(_)
        | Action::SleeptimeCompute(_) => Vec::new(),
    }
}

/// What all rules make of a command for the shell.
pub(crate) fn risk_of(text: &str, site: Site<'_>) -> SecurityRisk {
    let found = command(text, site).into_iter();
    let worst = found
        .map(|finding| finding.verdict)
        .fold(Verdict::harmless(), Verdict::or_worse);
    worst.risk
}

fn command(text: &str, site: Site<'_>) -> Vec<Finding> {
    let script = shell::read(&visible(text), site);
    let mut found = rules::judge(&script, site.workspace);
    found.extend(prose::judge(std::iter::once(text)));
    if deceives(text) {
        let reason = "It holds characters that cannot be seen or that turn the order of others around.";
        found.push(Finding::pattern(Medium, "hidden-characters", reason));
    }
    found
}

fn edited(command: EditorCommand, path: &str, workspace: &str) -> Vec<Finding> {
    match command {
        EditorCommand::View => files::read(path, workspace),
        EditorCommand::Create
        | EditorCommand::StrReplace
        | EditorCommand::Insert
        | EditorCommand::UndoEdit => files::write(path, workspace),
    }
}

/// Tools that are no part of the protocol: ours, and those that clients bring along.
fn of_others(tool: &str, fields: &Extra, workspace: &str) -> Vec<Finding> {
    let mut found = match tool {
        "fetch" => outside("It opens an address, and tells the server so."),
        "code" => Vec::new(),
        _ => vec![Finding::pattern(
            Unknown,
            "unknown-tool",
            "What this tool does is not known here.",
        )],
    };
    found.extend(arguments(fields, workspace));
    found
}

fn outside(reason: &str) -> Vec<Finding> {
    vec![Finding::pattern(Medium, "acts-outside", reason)]
}

/// What the arguments of a tool from elsewhere say.
fn arguments(fields: &Extra, workspace: &str) -> Vec<Finding> {
    let mut strings = Strings::default();
    for (name, value) in fields {
        strings.collect(name, value);
    }
    let mut found: Vec<_> = strings
        .commands
        .iter()
        .flat_map(|text| command(text, workspace.into()))
        .collect();
    found.extend(prose::judge(
        strings.commands.iter().chain(&strings.others).copied(),
    ));
    if strings.commands.len() >= MAX_STRINGS {
        found.push(Finding::rail(
            High,
            "too-long",
            "It has too many commands to judge.",
        ));
    }
    if strings.others.len() >= MAX_STRINGS {
        found.push(Finding::rail(Medium, "too-long", "It is too long to judge."));
    }
    found
}

/// The strings of a call. Commands have a place of their own, so that others cannot keep them from being seen.
#[derive(Default)]
struct Strings<'v> {
    commands: Vec<&'v str>,
    others: Vec<&'v str>,
}

impl<'v> Strings<'v> {
    /// All strings of a value, which stands in a field of this name.
    fn collect(&mut self, name: &str, value: &'v Value) {
        match value {
            Value::String(text) => {
                let kind = if COMMAND_NAMES.contains(&name) {
                    &mut self.commands
                } else {
                    &mut self.others
                };
                if kind.len() < MAX_STRINGS {
                    kind.push(text);
                }
            }
            Value::Array(values) => values.iter().for_each(|value| self.collect(name, value)),
            Value::Object(fields) => fields.iter().for_each(|(name, value)| self.collect(name, value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}
