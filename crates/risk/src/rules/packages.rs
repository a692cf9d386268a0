//! Packages that are installed by name: to install what strangers have written runs it.
//!
//! What a project itself lists (`npm ci`, `pip install -r requirements.txt`, `pip install -e .`) is everyday work.

use deft_types::SecurityRisk::Medium;

use crate::shell::{Simple, Word};
use crate::verdict::Finding;

/// Programs, and what they are told before the names of packages, word by word; `a|b` is one of both.
const INSTALLERS: &[(&[&str], &[&str])] = &[
    (&["pip"], &["install"]),
    (&["pipx"], &["install|run|inject"]),
    (&["uv"], &["add"]),
    (&["uv"], &["pip", "install"]),
    (&["uv"], &["tool", "install|run"]),
    (&["uvx"], &[]),
    (&["poetry", "pdm"], &["add"]),
    (&["conda", "mamba", "micromamba"], &["install|create"]),
    (&["easy_install"], &[]),
    (&["npm", "pnpm"], &["install|i|add|create|init|dlx"]),
    (&["yarn", "bun"], &["add|create|dlx|x|install|i"]),
    (&["yarn"], &["global", "add"]),
    (&["bunx", "pnpx"], &[]),
    (&["cargo"], &["install|binstall"]),
    (&["gem"], &["install"]),
    (&["go"], &["install|get"]),
    (&["composer"], &["require"]),
    (&["dotnet"], &["tool", "install"]),
    (&["deno"], &["install|add"]),
    (&["luarocks", "opam", "cabal", "stack", "mix"], &["install"]),
    (&["cpan", "cpanm"], &[]),
];

/// Options whose value is no package: a list of the project, or where to put things.
const VALUED: &[&str] = &[
    "-r",
    "--requirement",
    "-c",
    "--constraint",
    "-t",
    "--target",
    "--prefix",
    "--root",
    "--path",
    "-C",
    "--dir",
    "--cwd",
    "--directory",
    "--python",
];
/// Options of `npx` that let it fetch what is not there.
const FETCHING: &[&str] = &["-y", "--yes", "-p", "--package"];

pub(super) fn judge(command: &Simple) -> Option<Finding> {
    let verb = command.verb();
    let (program, words) = program(verb, &command.words);
    let arguments = arguments(words);
    let installs = INSTALLERS
        .iter()
        .filter(|(programs, _)| programs.contains(&program))
        .filter_map(|(_, told)| after(told, &arguments))
        .any(|named| named.iter().any(|argument| is_foreign(argument.word)));
    let fetches = |word: &Word| {
        let has_version = word.text.rfind('@').is_some_and(|at| at > 0);
        FETCHING.contains(&word.text.as_str()) || has_version
    };
    let runs = verb == "npx" && command.words.iter().any(fetches);
    let reason = "It installs what others have written, and runs it.";
    (installs || runs).then(|| Finding::pattern(Medium, "install-package", reason))
}

/// The program without its version, and what it is told. `python -m pip` is pip.
fn program<'a>(verb: &'a str, words: &'a [Word]) -> (&'a str, &'a [Word]) {
    let plain = |name: &'a str| name.trim_end_matches(|char: char| char == '.' || char.is_ascii_digit());
    let module = words.iter().position(|word| word.text == "-m");
    match (plain(verb), module.and_then(|at| words.get(at + 1..))) {
        ("python", Some([module, rest @ ..])) => (plain(&module.text), rest),
        (program, _) => (program, words.get(1..).unwrap_or_default()),
    }
}

/// A word that is no option.
struct Argument<'a> {
    word: &'a Word,
    /// It may be the value of the option before it.
    follows_option: bool,
}

/// The arguments without options. An address is one wherever it stands: it may be where packages are sought.
fn arguments(words: &[Word]) -> Vec<Argument<'_>> {
    let mut arguments = Vec::new();
    let (mut is_value, mut follows_option) = (false, false);
    for word in words {
        let is_address = word.text.contains("://");
        let is_option = word.text.starts_with('-');
        let was_value = std::mem::replace(&mut is_value, VALUED.contains(&word.text.as_str()));
        if is_address || !(is_option || was_value) {
            arguments.push(Argument { word, follows_option });
        }
        follows_option = is_option;
    }
    arguments
}

/// What follows the words that a program is told. Before them only options stand, and a choice of a toolchain.
fn after<'a, 'w>(told: &[&str], arguments: &'a [Argument<'w>]) -> Option<&'a [Argument<'w>]> {
    for (at, argument) in arguments.iter().enumerate() {
        if is_told(told, &arguments[at..]) {
            return arguments.get(at + told.len()..);
        }
        if !(argument.follows_option || argument.word.text.starts_with('+')) {
            break;
        }
    }
    None
}

fn is_told(told: &[&str], arguments: &[Argument<'_>]) -> bool {
    told.len() <= arguments.len()
        && told
            .iter()
            .zip(arguments)
            .all(|(wanted, argument)| wanted.split('|').any(|choice| choice == argument.word.text))
}

/// Whether a word names something that is not here.
fn is_foreign(word: &Word) -> bool {
    let text = word.text.as_str();
    let is_file = [".whl", ".tgz", ".tar.gz", ".gem"]
        .iter()
        .any(|end| text.ends_with(end));
    !word.is_known() || text.contains("://") || !(is_file || text.starts_with(['.', '/', '~']))
}
