//! The files of a workspace that commands name: scripts, which could be changed without a change of the command.

use deft_risk::paths_to_run;
use serde_json::Value;

use crate::alias::quoted;

/// Files that the commands of one text can name.
const MAX_SCRIPTS: usize = 50;
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
    named_by([&written], workspace)
}

/// The same of what was read from a text.
pub(crate) fn named_by<'a>(written: impl IntoIterator<Item = &'a Value>, workspace: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for value in written {
        collect(value, &mut lines);
    }
    let mut paths = Vec::new();
    for line in lines {
        let names = WORKSPACE.iter();
        let line = names.fold(line, |line, name| line.replace(name, workspace));
        for path in paths_to_run(&line, workspace) {
            if paths.len() < MAX_SCRIPTS && is_below(&path, workspace) && !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    paths
}

/// The lines of programs, wherever they stand. One that has its arguments beside it is started without a shell.
fn collect(value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let command = fields.get("command").and_then(Value::as_str);
            let arguments = fields.get("args").and_then(Value::as_array);
            lines.extend(command.map(|command| match arguments {
                Some(arguments) => {
                    let arguments = arguments.iter().filter_map(Value::as_str);
                    let words: Vec<_> = std::iter::once(command).chain(arguments).map(quoted).collect();
                    words.join(" ")
                }
                None => command.to_owned(),
            }));
            fields.values().for_each(|value| collect(value, lines));
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, lines)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_below(path: &str, workspace: &str) -> bool {
    path.strip_prefix(workspace)
        .is_some_and(|inside| inside.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_found_wherever_a_command_names_them() {
        let text = r#"{"Stop": [{"hooks": [
            {"command": "sh ./checks/a.sh --all && \"$OPENHANDS_PROJECT_DIR/b c.sh\""},
            {"command": "python3 /w/d.py >out.txt; ../../etc/e; /usr/bin/f"},
            {"command": "BASH_ENV=./p.sh python3 -c \"exec(open('o.py').read())\""},
            {"command": "cd h && timeout 5 ./i.sh && lint --config=j.js && bash -c '. k.sh' < l"}]}],
            "mcpServers": {"near": {"command": "node", "args": ["/w/g.mjs"]}, "in a shell":
            {"command": "sh", "args": ["-c", "node --inspect ./m.mjs"]}}, "PreToolUse": [{"hooks": [
            {"command": "cd \"$(git rev-parse --show-toplevel)\" && ./n.sh && git bisect run ./o.sh"}]}]}"#;
        let found = named_in(text, "/w");
        for path in [
            "/w/checks/a.sh",
            "/w/b c.sh",
            "/w/d.py",
            "/w/g.mjs",
            "/w/h/i.sh",
            "/w/h/j.js",
            "/w/h/k.sh",
            "/w/h/l",
            "/w/m.mjs",
            "/w/n.sh",
            "/w/o.sh",
            "/w/o.py",
            "/w/p.sh",
        ] {
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

    #[test]
    fn what_a_command_only_looks_at_is_no_script_and_neither_is_its_own_name() {
        let lines = [
            "[ -f SUMMARY.md ] || exit 2",
            "[[ -s SUMMARY.md ]] && grep -q done NOTES.md",
            "test -e ok && git diff --exit-code Cargo.lock",
        ];
        for line in lines {
            let text = serde_json::json!({"Stop": [{"hooks": [{"command": line}]}]}).to_string();
            assert_eq!(named_in(&text, "/w"), Vec::<String>::new(), "{line}");
        }
    }
}
