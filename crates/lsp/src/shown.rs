//! Answers of servers as text for a model.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::place;
use crate::server::MAX_TEXT_BYTES;

/// Places or symbols that one answer names.
const MAX_SHOWN: usize = 100;
/// Characters of one line of code.
const MAX_LINE_CHARS: usize = 200;
/// Characters of a text, such as a documentation.
const MAX_TEXT_CHARS: usize = 6000;

/// The kinds of symbols, from 1, as the protocol numbers them.
const SYMBOL_KINDS: [&str; 26] = [
    "file",
    "module",
    "namespace",
    "package",
    "class",
    "method",
    "property",
    "field",
    "constructor",
    "enum",
    "interface",
    "function",
    "variable",
    "constant",
    "string",
    "number",
    "boolean",
    "array",
    "object",
    "key",
    "null",
    "member",
    "struct",
    "event",
    "operator",
    "type parameter",
];

/// A list, cut where it gets long.
pub(crate) fn list(lines: &[String], none: &str) -> String {
    match lines.len() {
        0 => none.to_owned(),
        all @ 1..=MAX_SHOWN => lines[..all].join("\n"),
        all => format!(
            "{}\n… and {} more",
            lines[..MAX_SHOWN].join("\n"),
            all - MAX_SHOWN
        ),
    }
}

/// Places with the line of code at each.
pub(crate) fn locations(answer: &Value, workspace: &Path) -> Vec<String> {
    let all = match answer {
        Value::Array(all) => all.as_slice(),
        Value::Null => &[],
        one => std::slice::from_ref(one),
    };
    let mut texts = HashMap::new();
    all.iter()
        .enumerate()
        .filter_map(|(index, one)| {
            // A location, or a link to one.
            let uri = one["uri"].as_str().or(one["targetUri"].as_str())?;
            let range = one.get("range").or(one.get("targetSelectionRange"))?;
            let start = &range["start"];
            let (line, column) = (start["line"].as_u64()?, start["character"].as_u64()?);
            let path = place::path(uri)?;
            let place = format!("{}:{}:{}", name(&path, workspace), line + 1, column + 1);
            let code = if index < MAX_SHOWN {
                code(&mut texts, path, line)
            } else {
                None
            };
            Some(code.map_or_else(|| place.clone(), |code| format!("{place}: {code}")))
        })
        .collect()
}

fn code(texts: &mut HashMap<PathBuf, String>, path: PathBuf, line: u64) -> Option<String> {
    let text = texts.entry(path).or_insert_with_key(|path| {
        let is_small = path
            .metadata()
            .is_ok_and(|data| data.is_file() && data.len() <= MAX_TEXT_BYTES);
        let text = is_small.then(|| std::fs::read_to_string(path).ok());
        text.flatten().unwrap_or_default()
    });
    let line = text.lines().nth(usize::try_from(line).ok()?)?;
    Some(line.trim().chars().take(MAX_LINE_CHARS).collect())
}

/// A file's name for the model: short within the workspace.
pub(crate) fn name(path: &Path, workspace: &Path) -> String {
    path.strip_prefix(workspace).unwrap_or(path).display().to_string()
}

/// The symbols of a file, those within others indented, or of the workspace with their places.
pub(crate) fn symbols(answer: &Value, workspace: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    for symbol in answer.as_array().into_iter().flatten() {
        add_symbol(symbol, 0, workspace, &mut lines);
    }
    lines
}

fn add_symbol(symbol: &Value, depth: usize, workspace: &Path, lines: &mut Vec<String>) {
    let kind = symbol["kind"]
        .as_u64()
        .and_then(|kind| usize::try_from(kind).ok());
    let kind = kind
        .and_then(|kind| SYMBOL_KINDS.get(kind.wrapping_sub(1)))
        .unwrap_or(&"symbol");
    let range = symbol.get("range").unwrap_or(&symbol["location"]["range"]);
    let line = |end: &str| range[end]["line"].as_u64().map_or(0, |line| line + 1);
    let file = symbol["location"]["uri"].as_str().and_then(place::path);
    let place = match file {
        Some(path) => format!("{}:{}", name(&path, workspace), line("start")),
        None => format!("{}-{}", line("start"), line("end")),
    };
    let called = symbol["name"].as_str().unwrap_or_default();
    lines.push(format!("{}{kind} {called} ({place})", "  ".repeat(depth)));
    for child in symbol["children"].as_array().into_iter().flatten() {
        add_symbol(child, depth + 1, workspace, lines);
    }
}

/// What a server says of a symbol.
pub(crate) fn hover(answer: &Value) -> String {
    fn text(contents: &Value) -> String {
        match contents {
            Value::String(text) => text.clone(),
            Value::Array(parts) => parts.iter().map(text).collect::<Vec<_>>().join("\n\n"),
            other => other["value"].as_str().unwrap_or_default().to_owned(),
        }
    }
    let whole = text(&answer["contents"]);
    match whole.trim() {
        "" => "Nothing is known about it.".to_owned(),
        whole => whole.chars().take(MAX_TEXT_CHARS).collect(),
    }
}
