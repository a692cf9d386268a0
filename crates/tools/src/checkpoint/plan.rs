//! What has to happen so that the workspace is again what it was.

use std::collections::BTreeMap;

use super::CheckpointError;
use super::change::{Change, Effect};
use super::snapshot::Camera;
use super::tree::{Entry, NotKept, RelativePath, Tree, hides};

/// The steps by path.
pub(super) type Plan = BTreeMap<RelativePath, Step>;

/// What happens to one path.
pub(super) struct Step {
    pub(super) effect: Effect,
    pub(super) now: Option<Entry>,
    pub(super) then: Option<Entry>,
    pub(super) edited_since: bool,
}

/// Compares what is with what was; `last` is what the agent left.
pub(super) fn plan(camera: &Camera, now: &Tree, then: &Tree, last: &Tree) -> Result<Plan, CheckpointError> {
    let mut plan = Plan::new();
    for (path, was) in then {
        // A path that has come to be ignored is still the one that was kept.
        let is = match now.get(path) {
            Some(Entry::NotKept {
                why: NotKept::Ignored,
                ..
            }) if !is_ignored(was) => camera.look(path)?,
            None if hides(now, path) => camera.look(path)?,
            known => known.cloned(),
        };
        let effect = match (&is, was) {
            (Some(is), _) if is.same(was) => continue,
            (_, was) if is_ignored(was) => continue,
            (_, Entry::NotKept { why, .. }) => Effect::Leave(*why),
            (None, _) => Effect::Create,
            (Some(_), _) => Effect::Modify,
        };
        add(&mut plan, path, effect, is, Some(was.clone()), last);
    }
    for (path, is) in now {
        // What stands below something without a copy may well have been there.
        if then.contains_key(path) || hides(then, path) || is_ignored(is) {
            continue;
        }
        if is_nobodys(path, is, now, last) {
            continue;
        }
        let effect = match is {
            Entry::NotKept { why, .. } => Effect::Leave(*why),
            Entry::File { .. } | Entry::Symlink { .. } | Entry::Directory { .. } => Effect::Delete,
        };
        add(&mut plan, path, effect, Some(is.clone()), None, last);
    }
    Ok(plan)
}

/// An empty directory that the agent has not made: there is no work in it, and it may be in use. While another sandbox
/// works here, such a directory stands in the place of what must not be made.
fn is_nobodys(path: &RelativePath, is: &Entry, now: &Tree, last: &Tree) -> bool {
    let inside = [path.as_slice(), b"/"].concat();
    let is_empty = || {
        let mut after = now.range(inside.clone()..);
        after.next().is_none_or(|(next, _)| !next.starts_with(&inside))
    };
    matches!(is, Entry::Directory { .. }) && !last.contains_key(path) && is_empty()
}

fn add(
    plan: &mut Plan,
    path: &RelativePath,
    effect: Effect,
    now: Option<Entry>,
    then: Option<Entry>,
    last: &Tree,
) {
    let is_left = matches!(effect, Effect::Leave(_));
    // Something without a copy cannot be brought back, so it counts as somebody's work. Where nothing is, or only a
    // directory's mode changes, nothing can be lost: a restore that was killed leaves such things.
    let is_known = match (&now, &then, last.get(path)) {
        (None, _, _) | (Some(Entry::Directory { .. }), Some(Entry::Directory { .. }), _) => true,
        (Some(Entry::NotKept { .. }), _, _) | (Some(_), _, None) => false,
        (Some(now), _, Some(last)) => now.same(last),
    };
    let step = Step {
        effect,
        now,
        then,
        edited_since: !is_left && !is_known,
    };
    plan.insert(path.clone(), step);
}

fn is_ignored(entry: &Entry) -> bool {
    matches!(
        entry,
        Entry::NotKept {
            why: NotKept::Ignored,
            ..
        }
    )
}

/// The plan as it is shown.
pub(super) fn changes(plan: &Plan) -> Vec<Change> {
    plan.iter()
        .map(|(path, step)| Change {
            path: readable(path),
            effect: step.effect,
            now: step.now.as_ref().and_then(Entry::size),
            then: step.then.as_ref().and_then(Entry::size),
            edited_since: step.edited_since,
        })
        .collect()
}

/// A path for people.
pub(super) fn readable(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}
