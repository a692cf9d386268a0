//! The tools that read and write files. What they write is text, not a command: only the place counts.

use deft_types::SecurityRisk::High;

use crate::place::{Place, home, place};
use crate::rules::written;
use crate::verdict::Finding;

/// Paths of a patch that are looked at.
const MAX_PATHS: usize = 1000;

pub(crate) fn read(path: &str, workspace: &str) -> Vec<Finding> {
    let is_secret = place_of(path, workspace) == Place::Credentials;
    let finding = || Finding::pattern(High, "read-credentials", "It reads keys or passwords.");
    is_secret.then(finding).into_iter().collect()
}

pub(crate) fn write(path: &str, workspace: &str) -> Vec<Finding> {
    let found = match place_of(path, workspace) {
        // A tool for files is for the workspace's files.
        Place::Home | Place::BelowHome | Place::Elsewhere => {
            Some((High, "write-outside", "It writes outside the workspace."))
        }
        Place::Temporary => Some((
            deft_types::SecurityRisk::Medium,
            "write-outside",
            "It writes outside the workspace.",
        )),
        place => written(place),
    };
    let finding = |(risk, rule, reason)| Finding::pattern(risk, rule, format!("{reason} ({path})"));
    found.map(finding).into_iter().collect()
}

/// Every file that a patch touches.
pub(crate) fn patch(text: &str, workspace: &str) -> Vec<Finding> {
    let marks = [
        "*** Add File: ",
        "*** Update File: ",
        "*** Delete File: ",
        "*** Move to: ",
        "+++ b/",
        "--- a/",
    ];
    let path = |line: &str| {
        marks
            .iter()
            .find_map(|mark| line.strip_prefix(mark).map(|path| path.trim().to_owned()))
    };
    let mut paths = text.lines().filter_map(path);
    let mut found: Vec<_> = paths
        .by_ref()
        .take(MAX_PATHS)
        .flat_map(|path| write(&path, workspace))
        .collect();
    if paths.next().is_some() {
        let medium = deft_types::SecurityRisk::Medium;
        found.push(Finding::pattern(medium, "too-long", "It is too long to judge."));
    }
    found
}

fn place_of(path: &str, workspace: &str) -> Place {
    match path.strip_prefix("~/") {
        Some(rest) => place(&format!("{}/{rest}", home(workspace)), workspace, workspace),
        None => place(path, workspace, workspace),
    }
}
