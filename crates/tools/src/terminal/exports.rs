//! Gives secrets to the command that names them, and to no other.

use deft_types::Secret;

/// What the shell reads before the command: each secret becomes a variable, unless there is one of that name, and
/// is taken back afterwards, unless the command itself makes it a lasting one.
pub(super) fn script(command: &str, secrets: &[(String, Secret<String>)]) -> Option<Secret<String>> {
    if secrets.is_empty() {
        return None;
    }
    let lines = secrets.iter().map(|(name, value)| {
        let value = quoted(value.expose());
        let given = if keeps(command, name) {
            String::new()
        } else {
            format!("; __deft_given=\"${{__deft_given-}} {name}\"")
        };
        format!("if [[ -z ${{{name}+x}} ]]; then export {name}={value}{given}; fi\n")
    });
    Some(Secret::new(lines.collect()))
}

/// Whether a command exports or sets a variable for the commands after it.
fn keeps(command: &str, name: &str) -> bool {
    command.split([';', '&', '|', '\n', '(', ')']).any(|statement| {
        let mut words = statement.split_whitespace().peekable();
        let exports = words
            .next_if(|first| ["export", "declare", "typeset", "readonly"].contains(first))
            .is_some();
        let words: Vec<&str> = words.collect();
        let sets = |word: &&str| word.strip_prefix(name).is_some_and(|rest| rest.starts_with('='));
        // `NAME=value program` is for that program only.
        let only_sets = words.iter().all(|word| word.contains('='));
        words
            .iter()
            .any(|word| exports && *word == name || (exports || only_sets) && sets(word))
    })
}

/// A text as one word of the shell.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_keeps_what_it_exports_or_sets_itself() {
        for command in [
            "export TOKEN",
            "cd /; export A=1 TOKEN=x",
            "declare -x TOKEN",
            "TOKEN=mine",
            "A=1 TOKEN=2",
        ] {
            assert!(keeps(command, "TOKEN"), "{command}");
        }
        for command in [
            "echo $TOKEN",
            "TOKEN=x make",
            "export OTHER=$TOKEN",
            "export TOKENS",
            "echo TOKEN",
        ] {
            assert!(!keeps(command, "TOKEN"), "{command}");
        }
    }
}
