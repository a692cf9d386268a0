//! Catches arguments that no shell could run as they were meant.

/// How many characters of the argument are shown to the model.
const SHOWN: usize = 60;

/// Says what is wrong with a command that is a list or a dictionary, or holds a character that shells drop.
pub(super) fn objection_to(command: &str) -> Option<String> {
    if command.contains('\0') {
        return Some(
            "`command` holds a NUL character, which the shell would leave out. Nothing was run. Write it as an escape, such as `printf '\\0'`."
                .to_owned(),
        );
    }
    let mut characters = command.chars();
    let kind = match (characters.next()?, characters.next()?, characters.next()) {
        ('[', '"' | '\'' | '{', _) => "list",
        ('[', '[', Some(next)) if !next.is_whitespace() => "list",
        ('{', '"' | '\'', _) => "dictionary",
        _ => return None,
    };
    let start: String = command.chars().take(SHOWN).collect();
    Some(format!(
        "`command` looks like a JSON {kind}, not like a shell command; it begins with {start:?}. Nothing was run. Give the command line as plain text; to write data into a file use `file_editor` or a here-document."
    ))
}

#[cfg(test)]
mod tests {
    use super::objection_to;

    #[test]
    fn data_is_refused_and_commands_are_not() {
        for data in [
            r#"["ls", "-la"]"#,
            "['ls']",
            r#"[{"a":1}]"#,
            "[[1, 2]]",
            r#"{"command": "ls"}"#,
            "{'a'}",
            "echo a\0b",
        ] {
            assert!(objection_to(data).is_some(), "{data}");
        }
        for command in [
            "[[ -d . ]] && echo yes",
            "{ echo g; }",
            "[ -f x ]",
            "{a,b}",
            "[",
            "ls",
        ] {
            assert!(objection_to(command).is_none(), "{command}");
        }
    }
}
