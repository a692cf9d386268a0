//! What was noted in earlier conversations.

use crate::discover::Roots;
use crate::files::Files;

/// Characters of all notes.
const MAX_MEMORY: usize = 6000;
const CUT: &str = "[earlier memory truncated]";

/// The user's notes, then the project's. Where there is too much, the oldest lines go, which stand at the top.
pub fn memory(files: &impl Files, roots: &Roots) -> Option<String> {
    let user = roots.user.iter().map(|user| format!("{user}/memory/MEMORY.md"));
    let read = |path: &String| {
        files
            .read(path)
            .ok()
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty())
    };
    let user = user.into_iter().find_map(|path| read(&path));
    let project = roots
        .workspace
        .iter()
        .find_map(|root| read(&format!("{root}/.openhands/memory/MEMORY.md")));
    let length = |text: &Option<String>| text.as_ref().map_or(0, |text| text.chars().count());
    // Each gets half, and what the other leaves.
    let half = MAX_MEMORY / 2;
    let share = |other: usize| half.max(MAX_MEMORY.saturating_sub(other));
    let (user_share, project_share) = (share(length(&project)), share(length(&user)));
    let parts: Vec<_> = [
        user.map(|text| newest(&text, user_share)),
        project.map(|text| newest(&text, project_share)),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// The last whole lines of a text.
fn newest(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut left = most.saturating_sub(CUT.len() + 1);
    let fits = |line: &&str| {
        let length = line.chars().count() + 1;
        let fits = length <= left;
        left = left.saturating_sub(length);
        fits
    };
    let mut lines: Vec<_> = text.lines().rev().take_while(fits).collect();
    lines.push(CUT);
    lines.reverse();
    lines.join("\n")
}
