//! Why the sandbox refuses something, from what programs say when it does.
//!
//! The kernel tells a program no more than that it may not. Whoever reads that cannot know whether the rule is the
//! machine's or ours, and which setting would change it.

use std::path::{Component, Path, PathBuf};

use super::{Launch, Tier};
use crate::protected;

/// The words of the system that a rule of ours may be behind.
const REFUSALS: [&str; 4] = [
    "Permission denied",
    "Read-only file system",
    "Device or resource busy",
    "Operation not permitted",
];
/// The words, the system's and our tools', that only what is hidden answers with.
const MISSING: [&str; 2] = ["No such file", "does not exist"];
/// Lines that are looked at: the last ones say why it ended.
const MAX_LINES: usize = 200;
/// Paths that are explained.
const MAX_EXPLAINED: usize = 3;
/// What stands around paths in what programs say.
const AROUND_PATHS: &[char] = &[
    ' ', '\t', ':', ',', ';', '(', ')', '\'', '"', '`', '‘', '’', '“', '”',
];

/// The rules of a sandbox.
#[derive(Clone, Debug)]
pub struct Denials {
    root: PathBuf,
    hidden: Vec<PathBuf>,
    protected: Vec<PathBuf>,
    writable: Vec<PathBuf>,
}

impl Denials {
    /// Those that a launch enforces.
    pub fn of(launch: &Launch) -> Self {
        let policy = &launch.plan.policy;
        let protected = match launch.plan.tier {
            Tier::Namespaces => protected::guards(policy, &launch.root).into_keys().collect(),
            Tier::Landlock => Vec::new(), // it cannot protect any
        };
        Self {
            root: launch.root.clone(),
            hidden: policy.hidden.clone(),
            protected,
            writable: launch.writable(),
        }
    }

    /// Says which rules are behind what a program, or a tool of ours, was refused; none: nothing of ours.
    ///
    /// Of what has not failed as a whole only lines count that end as the system's complaints do: it may have been a file
    /// that speaks of such things.
    pub fn explain(&self, said: &str, has_failed: bool) -> Option<String> {
        let mut explained: Vec<String> = Vec::new();
        for line in said.lines().rev().take(MAX_LINES) {
            let is_missing = has_failed && MISSING.iter().any(|words| line.contains(words));
            let is_refused =
                |words: &&str| line.trim_end().ends_with(words) || has_failed && line.contains(words);
            if !is_missing && !REFUSALS.iter().any(is_refused) {
                continue;
            }
            let paths = line.split(AROUND_PATHS).filter(|word| word.contains(['/', '.']));
            for reason in paths.filter_map(|path| self.reason(path, is_missing)) {
                if explained.len() < MAX_EXPLAINED && !explained.contains(&reason) {
                    explained.push(reason);
                }
            }
        }
        (!explained.is_empty()).then(|| format!("\n[sandbox: {}]", explained.join("; ")))
    }

    fn reason(&self, path: &str, is_missing: bool) -> Option<String> {
        let path = self.absolute(path)?;
        let lies_in = |places: &[PathBuf]| places.iter().any(|place| path.starts_with(place));
        let shown = path.display();
        if lies_in(&self.hidden) {
            return Some(format!(
                "{shown} is hidden, as keys, credentials and Deft's own state are"
            ));
        }
        if is_missing {
            return None;
        }
        if lies_in(&self.protected) {
            return Some(format!(
                "{shown} is protected, because programs outside obey it; only the user can change it, or give it with \
                 the setting sandbox_write"
            ));
        }
        if lies_in(&self.writable) || path.starts_with("/proc") || path.starts_with("/dev") {
            return None;
        }
        Some(format!(
            "{shown} is outside of the workspace and can only be read; the user can add directories to the setting \
             sandbox_write"
        ))
    }

    /// A path as programs say it, without its detours. They mostly work in the workspace.
    fn absolute(&self, said: &str) -> Option<PathBuf> {
        let path = self.root.join(said);
        let mut absolute = PathBuf::new();
        for part in path.components() {
            match part {
                Component::ParentDir => {
                    absolute.pop();
                }
                part => absolute.push(part),
            }
        }
        // A word that only looks like one: the program itself, an abbreviation.
        (said.starts_with('/') || absolute.symlink_metadata().is_ok() || self.protects(&absolute))
            .then_some(absolute)
    }

    fn protects(&self, path: &Path) -> bool {
        self.protected.iter().any(|place| path.starts_with(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_names_its_rule_and_what_is_none_of_ours_is_left_alone() {
        let denials = Denials {
            root: "/work".into(),
            hidden: vec!["/home/me/.ssh".into()],
            protected: vec!["/work/.git/config".into(), "/work/.vscode".into()],
            writable: vec!["/work".into(), "/tmp".into()],
        };
        for (said, expected) in [
            (
                "cat: /home/me/.ssh/id: No such file or directory",
                Some("/home/me/.ssh/id is hidden"),
            ),
            (
                "cat: /work/../home/me/.ssh: Permission denied",
                Some("/home/me/.ssh is hidden"),
            ),
            (
                "mkdir: cannot create directory ‘.vscode/x’: Read-only file system",
                Some("/work/.vscode/x is protected"),
            ),
            (
                "error: could not lock config file .git/config: Read-only file system",
                Some("sandbox_write"),
            ),
            (
                "touch: cannot touch '/etc/new': Read-only file system",
                Some("/etc/new is outside of the workspace"),
            ),
            ("cat: nothing.txt: No such file or directory", None),
            ("bash: ./script: Permission denied", None),
            ("/etc/hosts is a file", None),
        ] {
            let explained = denials.explain(&format!("before\n{said}\nafter"), true);
            match expected {
                Some(words) => assert!(explained.is_some_and(|text| text.contains(words)), "{said}"),
                None => assert_eq!(explained, None, "{said}"),
            }
        }
    }
}
