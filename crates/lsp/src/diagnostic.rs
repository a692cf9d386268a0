//! What a server finds wrong with a file.

use serde_json::Value;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    Error,
    Warning,
    /// Information and hints.
    Other,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Diagnostic {
    pub(crate) severity: Severity,
    /// From 1.
    pub(crate) line: u64,
    /// From 1.
    pub(crate) column: u64,
    pub(crate) message: String,
    /// Who says so, and how it is called there.
    pub(crate) origin: String,
}

impl Diagnostic {
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let severity = match value["severity"].as_u64() {
            None | Some(1) => Severity::Error,
            Some(2) => Severity::Warning,
            Some(_) => Severity::Other,
        };
        let start = &value["range"]["start"];
        let code = match &value["code"] {
            Value::String(code) => code.clone(),
            Value::Number(code) => code.to_string(),
            _ => String::new(),
        };
        let source = value["source"].as_str().unwrap_or_default();
        Some(Self {
            severity,
            line: start["line"].as_u64()? + 1,
            column: start["character"].as_u64()? + 1,
            message: value["message"].as_str()?.to_owned(),
            origin: format!("{source} {code}").trim().to_owned(),
        })
    }

    pub(crate) fn shown(&self, name: &str) -> String {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Other => "note",
        };
        let message = self.message.split_whitespace().collect::<Vec<_>>().join(" ");
        let origin = match self.origin.as_str() {
            "" => String::new(),
            origin => format!(" [{origin}]"),
        };
        format!(
            "{name}:{}:{}: {severity}: {message}{origin}",
            self.line, self.column
        )
    }
}

/// The errors of `now` that were not there before. Lines move with every edit, so they do not count.
pub(crate) fn new_errors(before: &[Diagnostic], now: &[Diagnostic]) -> Vec<Diagnostic> {
    let mut known: Vec<_> = before
        .iter()
        .filter(|one| one.severity == Severity::Error)
        .map(|one| (&one.message, &one.origin))
        .collect();
    let mut new = Vec::new();
    for one in now.iter().filter(|one| one.severity == Severity::Error) {
        match known
            .iter()
            .position(|known| *known == (&one.message, &one.origin))
        {
            Some(index) => {
                known.swap_remove(index);
            }
            None => new.push(one.clone()),
        }
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn one(message: &str, line: u64, severity: u64) -> Diagnostic {
        let start = json!({"line": line, "character": 4});
        Diagnostic::read(&json!({"severity": severity, "message": message, "code": 7, "source": "x", "range": {"start": start}}))
            .unwrap()
    }

    #[test]
    fn only_errors_that_were_not_there_before_are_new() {
        let before = [one("a", 1, 1), one("b", 2, 1)];
        let now = [one("b", 9, 1), one("a", 8, 1), one("a", 7, 1), one("c", 1, 2)];
        assert_eq!(new_errors(&before, &now), [one("a", 7, 1)]);
        assert_eq!(one("a\n b", 7, 1).shown("f.py"), "f.py:8:5: error: a b [x 7]");
    }
}
