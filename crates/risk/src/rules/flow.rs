//! What goes from one command to the next: code from the network into a shell, secrets into the network.

use std::collections::HashSet;

use deft_types::SecurityRisk::{High, Medium, Unknown};

use super::git::set_for_git;
use super::operands;
use super::sed::started_from_sed;
use crate::place::{Place, place};
use crate::shell::{
    Origin, Script, Simple, Word, is_decoder, is_fetcher, is_interpreter, is_shell, name_of, printed,
};
use crate::verdict::Finding;

const FETCH_TO_EXEC: &str = "It runs what it fetches from the network, unseen.";
const DECODE_TO_EXEC: &str = "It runs what it deciphers, unseen.";

/// Words of programs in other languages that start programs or delete files.
const SHELLS_OUT: &[&str] = &[
    "os.system",
    "os.popen",
    "subprocess",
    "os.remove",
    "os.unlink",
    "rmtree",
    "child_process",
    "execSync",
    "rmSync",
    "unlinkSync",
    "system(",
    "system \"",
    "system '",
    "exec(",
    "exec \"",
    "exec '",
    "qx(",
    "qx{",
    "%x(",
    "%x{",
    "popen(",
    "pty.spawn",
    "FileUtils.rm",
    "unlink",
    ".rm(",
    "`",
];

/// What has to be known of the whole script.
pub(super) struct Whole<'s> {
    /// Names of files that are fetched or deciphered.
    unseen_files: HashSet<&'s str>,
    /// Something goes to another machine.
    sends: bool,
}

pub(super) fn whole(script: &Script) -> Whole<'_> {
    let unseen = script
        .commands
        .iter()
        .filter(|other| is_fetcher(other.verb()) || other.verb() == "base64");
    Whole {
        unseen_files: unseen.flat_map(outputs).map(name_of).collect(),
        sends: script.commands.iter().any(|command| sends(command.verb())),
    }
}

pub(super) fn judge(command: &Simple, script: &Script, whole: &Whole<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let verb = command.verb();
    if runs_input(command) {
        found.extend(
            command
                .input
                .iter()
                .filter_map(|index| script.commands.get(*index))
                .filter_map(piped),
        );
        found.extend(command.fed.iter().filter_map(run_word));
    }
    found.extend(command.program.iter().filter_map(run_word));
    if command.is_inner && matches!(verb, "rm" | "unlink" | "shred") {
        let mut input = command
            .input
            .iter()
            .filter_map(|index| script.commands.get(*index));
        if input.any(|earlier| matches!(earlier.verb(), "find" | "fd")) {
            let reason = "It deletes all files that another command finds.";
            found.push(Finding::pattern(High, "find-delete", reason));
        }
    }
    if is_interpreter(verb) || matches!(verb, "source" | ".") {
        found.extend(operands(command).next().and_then(run_word));
    }
    if verb == "eval" {
        found.extend(command.words.iter().skip(1).filter_map(run_text));
    }
    if !is_shell(verb) && is_interpreter(verb) {
        found.extend(
            programs(command, script)
                .iter()
                .flat_map(|code| inline_code(code)),
        );
    }
    if matches!(verb, "awk" | "gawk" | "mawk" | "nawk") {
        let code = operands(command).find(|code| starts_from_awk(&code.text));
        found.extend(code.map(|code| started(&code.text)));
    }
    found.extend(started_from_sed(command).map(started));
    found.extend(set_for_git(command).into_iter().map(started));
    if runs_fetched_file(command, whole) {
        found.push(Finding::rail(High, "fetch-to-exec", FETCH_TO_EXEC));
    }
    if dumps_variables(command) && whole.sends {
        let reason = "It sends variables, which may hold keys, to another machine.";
        found.push(Finding::rail(High, "send-secrets", reason));
    }
    found
}

/// Whether an interpreter takes its program from its input.
fn runs_input(command: &Simple) -> bool {
    let from_input = |word: &Word| matches!(word.text.as_str(), "-" | "-s" | "/dev/stdin");
    is_interpreter(command.verb())
        && (command.words.iter().any(from_input) || operands(command).next().is_none())
        && !command
            .words
            .iter()
            .any(|word| matches!(word.text.as_str(), "--version" | "-V" | "--help" | "-h"))
}

fn piped(earlier: &Simple) -> Option<Finding> {
    let verb = earlier.verb();
    if is_fetcher(verb) {
        return Some(Finding::rail(High, "fetch-to-exec", FETCH_TO_EXEC));
    }
    if is_decoder(verb) {
        return Some(Finding::rail(High, "decode-to-exec", DECODE_TO_EXEC));
    }
    match printed(&earlier.words) {
        Some(text) => run_word(&text),
        None if matches!(verb, "cat" | "tee" | "sed" | "grep" | "head" | "tail" | "") => None,
        None => Some(Finding::pattern(
            Unknown,
            "unseen-script",
            "It runs the output of another command.",
        )),
    }
}

/// What running the text of a word means.
fn run_word(word: &Word) -> Option<Finding> {
    match word.origin {
        Origin::Open if word.text.is_empty() || word.text.contains(char::is_whitespace) => Some(
            Finding::pattern(Unknown, "unseen-script", "What it runs shows only when it runs."),
        ),
        // Where it is open, part of a file's name.
        Origin::Written | Origin::Computed | Origin::Open => None,
        Origin::Decoded => Some(Finding::rail(High, "decode-to-exec", DECODE_TO_EXEC)),
        Origin::Fetched => Some(Finding::rail(High, "fetch-to-exec", FETCH_TO_EXEC)),
    }
}

/// What running a word as a script means: where that is open, nobody knows, and what we think is in a variable may be
/// something else by then.
fn run_text(word: &Word) -> Option<Finding> {
    let put_together = |risk, reason| Some(Finding::pattern(risk, "unseen-script", reason));
    run_word(word).or_else(|| match word.origin {
        Origin::Open => put_together(Unknown, "What it runs shows only when it runs."),
        Origin::Computed => put_together(Medium, "It runs a text that is put together only when it runs."),
        Origin::Written | Origin::Decoded | Origin::Fetched => None,
    })
}

/// Whether a program of awk's starts others: `system(…)`, or a pipe to or from a command.
fn starts_from_awk(code: &str) -> bool {
    let code = &code.replace("system (", "system(");
    code.contains("system(") || code.contains("| \"") || code.contains("|\"") || code.contains("\" | getline")
}

/// The programs that an interpreter is given: `python -c …`, a text on its input.
fn programs(command: &Simple, script: &Script) -> Vec<String> {
    let option = command.words.iter().position(|word| {
        word.text.starts_with('-') && (word.text.ends_with(['c', 'e', 'r']) || word.text == "--eval")
    });
    if let Some(code) = option.and_then(|at| command.words.get(at + 1)) {
        return vec![code.text.clone()];
    }
    let earlier = command
        .input
        .iter()
        .filter_map(|index| script.commands.get(*index));
    let piped = earlier.filter_map(|earlier| printed(&earlier.words));
    let given = command.program.iter().chain(&command.fed).cloned();
    given.chain(piped).map(|code| code.text).collect()
}

/// What a program in another language does: what it says in strings may be commands as well, and files.
fn inline_code(code: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    if SHELLS_OUT.iter().any(|word| code.contains(word)) {
        found.push(started(code));
    }
    let strings = code.split(['\'', '"', '`', ' ', ',', '(', ')']);
    let mut paths = strings.filter(|text| text.contains('/'));
    if paths.any(|path| place(path, "/", "/") == Place::Credentials) {
        let reason = "It reads keys or passwords.";
        found.push(Finding::pattern(High, "read-credentials", reason));
    }
    found
}

/// That a text in another language starts programs.
fn started(code: &str) -> Finding {
    let destroys = [
        "rm -r", "rmtree", "mkfs", "dd if=", "rmSync", ".rm(", "curl ", "wget ", "/dev/tcp", "'rm'", "\"rm\"",
    ];
    let risk = if destroys.iter().any(|word| code.contains(word)) {
        High
    } else {
        Medium
    };
    Finding::pattern(
        risk,
        "inline-code",
        "It starts programs or deletes files out of another language.",
    )
}

/// Whether it runs a file that an earlier command fetched or deciphered.
fn runs_fetched_file(command: &Simple, whole: &Whole<'_>) -> bool {
    let Some(verb) = command.words.first() else {
        return false;
    };
    let run = if is_interpreter(command.verb()) || matches!(verb.text.as_str(), "source" | ".") {
        operands(command).next()
    } else {
        verb.text.contains('/').then_some(verb)
    };
    run.is_some_and(|word| word.is_known() && whole.unseen_files.contains(name_of(&word.text)))
}

/// The files that a fetching command writes.
fn outputs(command: &Simple) -> impl Iterator<Item = &str> {
    let redirected = command.redirects.iter().filter(|redirect| redirect.writes);
    let behind = command.words.windows(2).filter(|pair| {
        matches!(
            pair[0].text.as_str(),
            "-o" | "-O" | "--output" | "--output-document"
        )
    });
    let addresses = command
        .words
        .iter()
        .skip(1)
        .filter(|word| word.text.contains("://"));
    redirected
        .map(|redirect| redirect.target.text.as_str())
        .chain(behind.map(|pair| pair[1].text.as_str()))
        .chain(addresses.map(|word| word.text.as_str()))
}

fn dumps_variables(command: &Simple) -> bool {
    matches!(command.verb(), "env" | "printenv" | "set" | "export")
        && command.words.len() == 1
        && command.assignments.is_empty()
}

fn sends(verb: &str) -> bool {
    is_fetcher(verb)
        || matches!(
            verb,
            "ssh" | "scp" | "telnet" | "socat" | "mail" | "sendmail" | "dig" | "nslookup" | "host"
        )
}
