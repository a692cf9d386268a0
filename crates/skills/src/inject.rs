//! Skills as they are put before a model.

use crate::catalogue::{enclosed, escaped};
use crate::dynamic::Invoked;
use crate::skill::Skill;

const ASK_FIRST: &str = "If the user has not given a value that is needed, ask for it before you begin.";

/// What stands in a skill for what is said behind the word that brings it in.
const ARGUMENTS: &str = "$ARGUMENTS";
/// How often it is put in, and how many characters of it: a skill may be hostile.
const MAX_ARGUMENTS: usize = 10;
const MAX_ARGUMENT_CHARS: usize = 10_000;

/// A skill's text that joins a message or a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injection {
    /// The skill: now it has been given.
    pub skill: String,
    /// The word that was said, or the file that was touched.
    pub because: String,
    /// What the model reads.
    pub text: String,
}

/// Whether what is said behind the word that brings it in is a part of its text.
pub(crate) fn takes_arguments(skill: &Skill) -> bool {
    skill.body.contains(ARGUMENTS)
}

/// `rest` is what is said behind the word.
pub(crate) fn triggered(skill: &Skill, keyword: String, rest: &str, path: &str) -> Injection {
    let head = format!(
        "The message contains \"{}\", for which the skill \"{}\" is kept ({}). It may not fit; then pass over it.",
        escaped(&keyword),
        escaped(&skill.name),
        escaped(path)
    );
    let rest: String = rest.trim().chars().take(MAX_ARGUMENT_CHARS).collect();
    let body = skill.body.replacen(ARGUMENTS, &rest, MAX_ARGUMENTS);
    injection(skill, &body, keyword, &head)
}

pub(crate) fn touched(skill: &Skill, file: &str, path: &str) -> Injection {
    let head = format!(
        "These rules count for files such as {} ({}).",
        escaped(file),
        escaped(path)
    );
    injection(skill, &skill.body, file.to_owned(), &head)
}

pub(crate) fn preloaded(skill: &Skill, path: &str) -> Injection {
    let head = format!(
        "The skill \"{}\" belongs to your role ({}).",
        escaped(&skill.name),
        escaped(path)
    );
    injection(skill, &skill.body, String::new(), &head)
}

fn injection(skill: &Skill, body: &str, because: String, head: &str) -> Injection {
    let body = enclosed(body);
    let ask = asking(skill).map(|ask| format!("\n\n{ask}")).unwrap_or_default();
    Injection {
        skill: skill.name.clone(),
        because,
        text: format!("<EXTRA_INFO>\n{head}\n\n{body}{ask}\n</EXTRA_INFO>"),
    }
}

/// What a model gets that asked for a skill: all of it, and where its files are.
pub(crate) fn invoked(skill: &Skill, folder: &str) -> Invoked {
    let ask = asking(skill).map(|ask| format!("\n\n{ask}")).unwrap_or_default();
    let files = match skill.resources.join(", ") {
        none if none.is_empty() => none,
        files => format!(" It holds: {files}."),
    };
    let addresses = match skill.urls.join(", ") {
        none if none.is_empty() => none,
        addresses => format!(" It names: {addresses}."),
    };
    let tools = match skill.allowed_tools.join(", ") {
        none if none.is_empty() => none,
        tools => format!(" It is written for the tools {tools}."),
    };
    let footer = format!(
        "\n\n---\nThe skill's folder is {folder}; paths in it start from there.{files}{addresses}{tools}"
    );
    Invoked::new(&skill.body, &format!("{ask}{footer}"))
}

/// What to ask for, where a skill wants to know something.
fn asking(skill: &Skill) -> Option<String> {
    if skill.inputs.is_empty() && !skill.body.contains("${") {
        return None;
    }
    let inputs: Vec<_> = skill
        .inputs
        .iter()
        .map(|input| format!("- {}: {}", input.name, input.description))
        .collect();
    let list = if inputs.is_empty() {
        String::new()
    } else {
        format!("Values:\n{}\n", inputs.join("\n"))
    };
    Some(format!("{list}{ASK_FIRST}"))
}
