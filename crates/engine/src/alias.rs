//! Names that models were trained on, for tools that are called otherwise here.

use serde_json::{Map, Value, json};

use crate::toolset::Toolset;

const TERMINAL: &str = "terminal";
const EDITOR: &str = "file_editor";

/// The tool that is meant, with its arguments changed where that is needed. A tool that exists by the name that was
/// called is never replaced.
pub(crate) fn resolve(name: &str, arguments: &mut Map<String, Value>, tools: &Toolset) -> String {
    if tools.find(name).is_some() {
        write_out(name, arguments);
        return name.to_owned();
    }
    let bare = leading_identifier(name);
    let target = if tools.find(bare).is_some() {
        bare
    } else {
        alias(bare, arguments).unwrap_or(bare)
    };
    if tools.find(target).is_none() {
        return name.to_owned();
    }
    write_out(target, arguments);
    target.to_owned()
}

/// `str_replace </parameter` was meant as `str_replace`.
fn leading_identifier(name: &str) -> &str {
    let name = name.trim();
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
    &name[..end.unwrap_or(name.len())]
}

fn alias(name: &str, arguments: &mut Map<String, Value>) -> Option<&'static str> {
    match name {
        "bash" | "command" | "execute" | "execute_bash" | "shell" | "run" => Some(TERMINAL),
        "str_replace" | "str_replace_editor" => {
            if name == "str_replace" {
                arguments.entry("command").or_insert_with(|| json!("str_replace"));
            }
            Some(EDITOR)
        }
        "git" | "reset" => {
            let command = arguments
                .get("command")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let command = if command.split_whitespace().next() == Some(name) {
                command.to_owned()
            } else {
                format!("{name} {command}").trim_end().to_owned()
            };
            arguments.retain(|key, _| matches!(key.as_str(), "security_risk" | "summary"));
            arguments.insert("command".to_owned(), json!(command));
            Some(TERMINAL)
        }
        "find" | "ls" | "pwd" if own_arguments(arguments) == 0 => {
            arguments.insert("command".to_owned(), json!(name));
            Some(TERMINAL)
        }
        "grep" => {
            let command = grep_command(arguments)?;
            arguments.retain(|key, _| matches!(key.as_str(), "security_risk" | "summary"));
            arguments.insert("command".to_owned(), json!(command));
            Some(TERMINAL)
        }
        _ => None,
    }
}

/// How many arguments there are beside those that every call has.
fn own_arguments(arguments: &Map<String, Value>) -> usize {
    let common = |key: &&String| matches!(key.as_str(), "security_risk" | "summary");
    arguments.len() - arguments.keys().filter(common).count()
}

fn grep_command(arguments: &Map<String, Value>) -> Option<String> {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let include = text("include").map(|include| format!("--include={} ", quoted(include)));
    Some(format!(
        "grep -R -I -n -i {}-e {} {}",
        include.unwrap_or_default(),
        quoted(text("pattern")?),
        quoted(text("path").unwrap_or(".")),
    ))
}

/// A word as a shell reads it back.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Puts what a call can only mean into the form that the tool has.
fn write_out(tool: &str, arguments: &mut Map<String, Value>) {
    match tool {
        EDITOR => infer_editor_command(arguments),
        TERMINAL => join_command(arguments),
        _ => {}
    }
}

/// `["bash", "-c", "ls -l"]`: a command in words, or several commands.
fn join_command(arguments: &mut Map<String, Value>) {
    let Some(Value::Array(parts)) = arguments.get("command") else {
        return;
    };
    let parts: Option<Vec<&str>> = parts.iter().map(Value::as_str).collect();
    let command = match parts.as_deref() {
        Some([first, rest @ ..]) if !rest.is_empty() && !first.contains(char::is_whitespace) => {
            let rest: Vec<_> = rest.iter().map(|word| quoted(word)).collect();
            format!("{first} {}", rest.join(" "))
        }
        Some(commands) if !commands.is_empty() => commands.join("\n"),
        Some(_) | None => return,
    };
    arguments.insert("command".to_owned(), json!(command));
}

/// What a call of the editor that does not say what to do can only mean.
fn infer_editor_command(arguments: &mut Map<String, Value>) {
    if arguments.contains_key("command") {
        return;
    }
    let meanings = [
        ("old_str", "str_replace"),
        ("insert_line", "insert"),
        ("file_text", "create"),
        ("path", "view"),
    ];
    let meant = meanings
        .iter()
        .find(|(argument, _)| arguments.contains_key(*argument));
    if let Some((_, command)) = meant {
        arguments.insert("command".to_owned(), json!(command));
    }
}

#[cfg(test)]
mod tests {
    use deft_tools::{Reach, spec};

    use super::*;

    fn resolved(names: &[&str], call: &str, arguments: Value) -> (String, Value) {
        let tool = |name: &&str| spec(name, "Terminal", Reach::World, "", &json!({}), &[]);
        let tools = Toolset::new(names.iter().map(tool).collect(), Vec::new());
        let Value::Object(mut arguments) = arguments else {
            panic!("arguments are an object");
        };
        let name = resolve(call, &mut arguments, &tools);
        (name, Value::Object(arguments))
    }

    #[test]
    fn a_command_in_parts_is_the_one_that_was_meant() {
        for (parts, command) in [
            (json!(["bash", "-lc", "echo it's"]), r"bash '-lc' 'echo it'\''s'"),
            (json!(["cd src", "ls"]), "cd src\nls"),
            (json!(["ls -l"]), "ls -l"),
        ] {
            let (_, arguments) = resolved(&["terminal"], "shell", json!({"command": parts}));
            assert_eq!(arguments["command"], command);
        }
    }

    #[test]
    fn known_names_reach_the_tool_that_is_meant() {
        let both = ["terminal", "file_editor"];
        for (call, arguments, tool, expected) in [
            (
                "bash",
                json!({"command": "ls"}),
                "terminal",
                json!({"command": "ls"}),
            ),
            (
                "git",
                json!({"command": "status", "cwd": "/x"}),
                "terminal",
                json!({"command": "git status"}),
            ),
            (
                "git",
                json!({"command": "git log"}),
                "terminal",
                json!({"command": "git log"}),
            ),
            (
                "ls",
                json!({"summary": "look"}),
                "terminal",
                json!({"summary": "look", "command": "ls"}),
            ),
            (
                "str_replace </parameter",
                json!({"path": "/a", "old_str": "x", "new_str": "y"}),
                "file_editor",
                json!({"path": "/a", "old_str": "x", "new_str": "y", "command": "str_replace"}),
            ),
            (
                "file_editor",
                json!({"path": "/a"}),
                "file_editor",
                json!({"path": "/a", "command": "view"}),
            ),
            (
                "file_editor",
                json!({"path": "/a", "insert_line": 3, "new_str": "x"}),
                "file_editor",
                json!({"path": "/a", "insert_line": 3, "new_str": "x", "command": "insert"}),
            ),
            (
                "str_replace_editor",
                json!({"path": "/a", "file_text": "x"}),
                "file_editor",
                json!({"path": "/a", "file_text": "x", "command": "create"}),
            ),
            (
                "str_replace_editor",
                json!({"path": "/a", "command": "undo_edit"}),
                "file_editor",
                json!({"path": "/a", "command": "undo_edit"}),
            ),
            (
                "reset",
                json!({"command": "--hard", "security_risk": "HIGH", "cwd": "/x"}),
                "terminal",
                json!({"command": "reset --hard", "security_risk": "HIGH"}),
            ),
            ("git", json!({}), "terminal", json!({"command": "git"})),
            ("find", json!({}), "terminal", json!({"command": "find"})),
            (
                "pwd",
                json!({"security_risk": "LOW"}),
                "terminal",
                json!({"security_risk": "LOW", "command": "pwd"}),
            ),
            ("find", json!({"path": "/a"}), "find", json!({"path": "/a"})),
            (
                "grep",
                json!({"pattern": "it's", "include": "*.rs"}),
                "terminal",
                json!({"command": r"grep -R -I -n -i --include='*.rs' -e 'it'\''s' '.'"}),
            ),
        ] {
            assert_eq!(
                resolved(&both, call, arguments),
                (tool.to_owned(), expected),
                "{call}"
            );
        }
        let arguments = json!({"command": "ls", "timeout": 3});
        for call in ["bash", "command", "execute", "execute_bash", "shell", "run"] {
            let meant = ("terminal".to_owned(), arguments.clone());
            assert_eq!(resolved(&both, call, arguments.clone()), meant, "{call}");
        }
    }

    #[test]
    fn a_tool_that_exists_is_never_replaced_and_an_unknown_one_stays_unknown() {
        let arguments = json!({"pattern": "x"});
        assert_eq!(
            resolved(&["grep", "terminal"], "grep", arguments.clone()),
            ("grep".to_owned(), arguments)
        );
        assert_eq!(resolved(&["terminal"], "launch", json!({})).0, "launch");
        assert_eq!(resolved(&["think"], "bash", json!({})).0, "bash");
    }
}
