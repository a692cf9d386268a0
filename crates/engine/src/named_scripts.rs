//! The files of a workspace that commands name: scripts, which could be changed without a change of the command.

use serde_json::Value;

/// Files that the commands of one text can name.
const MAX_SCRIPTS: usize = 50;
/// What ends a word in a line for the shell. More words than a shell sees are no harm: most of them name no file.
const BETWEEN_WORDS: &[char] = &[
    ' ', '\t', '\n', ';', '&', '|', '(', ')', '<', '>', '=', '"', '\'', '`',
];
const QUOTES: &[char] = &['"', '\''];
/// What stands for the workspace in a command.
const WORKSPACE: [&str; 4] = [
    "${OPENHANDS_PROJECT_DIR}",
    "$OPENHANDS_PROJECT_DIR",
    "${CLAUDE_PROJECT_DIR}",
    "$CLAUDE_PROJECT_DIR",
];

/// Paths that commands in a JSON text may mean, each below the workspace. Whether such a file is there is not known here.
pub(crate) fn named_in(text: &str, workspace: &str) -> Vec<String> {
    let written: Value = serde_json::from_str(text).unwrap_or_default();
    let mut commands = Vec::new();
    collect(&written, &mut commands);
    let mut paths = Vec::new();
    for command in commands {
        let command = WORKSPACE
            .iter()
            .fold(command.to_owned(), |line, name| line.replace(name, workspace));
        let command = without_outputs(&command);
        let words = command.split(BETWEEN_WORDS).chain(command.split(QUOTES));
        for path in words.filter_map(|word| below(word, workspace)) {
            if paths.len() < MAX_SCRIPTS && !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    paths
}

/// A line without the files that it writes: they change each time.
fn without_outputs(command: &str) -> String {
    let mut parts = command.split('>');
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let word = part.trim_start_matches(['&', '|', ' ', '\t']);
        let end = word.find(BETWEEN_WORDS).unwrap_or(word.len());
        rest.push(' ');
        rest.push_str(&word[end..]);
    }
    rest
}

/// The lines and arguments of programs, wherever they stand.
fn collect<'a>(value: &'a Value, commands: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            let own = fields.get("command").and_then(Value::as_str);
            let arguments = fields.get("args").and_then(Value::as_array);
            commands.extend(own);
            commands.extend(arguments.into_iter().flatten().filter_map(Value::as_str));
            fields.values().for_each(|value| collect(value, commands));
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, commands)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The file that a word means, if it can mean one of the workspace.
fn below(word: &str, workspace: &str) -> Option<String> {
    let inside = match word.strip_prefix(workspace) {
        Some(inside) => inside.strip_prefix('/')?,
        None if word.starts_with('/') => return None,
        None => word,
    };
    let parts: Vec<_> = inside
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    let is_path = !parts.is_empty() && !parts.contains(&"..");
    is_path.then(|| format!("{workspace}/{}", parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_found_wherever_a_command_names_them() {
        let text = r#"{"Stop": [{"hooks": [
            {"command": "sh ./checks/a.sh --all && \"$OPENHANDS_PROJECT_DIR/b c.sh\""},
            {"command": "python3 /w/d.py >out.txt; ../../etc/e; /usr/bin/f"}]}],
            "mcpServers": {"near": {"command": "node", "args": ["/w/g.mjs"]}}}"#;
        let found = named_in(text, "/w");
        for path in ["/w/checks/a.sh", "/w/b c.sh", "/w/d.py", "/w/g.mjs"] {
            assert!(found.iter().any(|one| one == path), "{path}: {found:?}");
        }
        assert!(
            found
                .iter()
                .all(|one| one.starts_with("/w/") && !one.contains("..")),
            "{found:?}"
        );
        assert!(!found.iter().any(|one| one.contains("usr")), "{found:?}");
        assert!(!found.iter().any(|one| one.contains("out.txt")), "{found:?}");
        assert!(named_in("no JSON", "/w").is_empty());
    }
}
