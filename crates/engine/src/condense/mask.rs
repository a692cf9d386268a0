//! Results of tools that are left out of the view, or shortened in it.

use deft_types::{Content, EventId, Message, Role, text_of};
use serde::{Deserialize, Serialize};

use super::summary::held_to;
use super::{Plan, Pressure};
use crate::view::{Entry, View};

/// What stands where a result was.
const MASKED: &str = "[The output was removed to save room. If it is needed again, call the tool again or read the file again.]";
/// Shorter results are not worth masking, in tokens.
const MASK_FROM: u64 = 100;
/// The tools whose results a browser makes.
const BROWSER: &str = "browser_";

/// Results that are masked, as the log has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mask {
    /// The last one.
    pub(crate) until: EventId,
    /// Only tools whose names begin so.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    tools: String,
    /// How many tokens of each stay, of its beginning and its end; none of them if nobody says.
    #[serde(default, skip_serializing_if = "is_zero")]
    keep: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks so
fn is_zero(keep: &u64) -> bool {
    *keep == 0
}

impl Mask {
    pub(crate) fn covers(&self, entry: &Entry) -> bool {
        let name = entry.message.name.as_deref().unwrap_or_default();
        entry.message.role == Role::Tool
            && entry.tokens > MASK_FROM.max(self.keep)
            && name.starts_with(&self.tools)
    }

    /// What stands in the place of a result.
    pub(crate) fn note(&self, result: &Message) -> Vec<Content> {
        if self.keep == 0 {
            return vec![Content::text(MASKED)];
        }
        vec![Content::text(held_to(&text_of(&result.content), self.keep))]
    }
}

/// How many of the entries the model has answered to: those before its last reply.
fn answered(entries: &[Entry]) -> usize {
    let is_reply = |entry: &Entry| entry.message.role == Role::Assistant;
    entries.iter().rposition(is_reply).unwrap_or(0)
}

/// Masks the results that the model has answered to, but for those of the last quarter of the room, if that makes
/// enough of it.
pub(super) fn mask_old(view: &View, pressure: Pressure) -> Option<Plan> {
    let entries = view.entries();
    let keep = pressure.room(view) / 4;
    let mut kept = 0;
    let mut position = entries.len();
    while position > 0 && kept + entries[position - 1].tokens <= keep {
        position -= 1;
        kept += entries[position].tokens;
    }
    let old = &entries[..position.min(answered(entries))];
    let until = old.iter().rev().find_map(|entry| entry.events.last())?;
    let mask = Mask {
        until: until.clone(),
        tools: String::new(),
        keep: 0,
    };
    worthwhile(mask, view)
}

/// Shortens the results that the model is still to read. The last resort: it refused a request that has nothing else
/// to leave out.
pub(crate) fn cut_newest(view: &View, limit: Option<u64>) -> Option<Plan> {
    let newest = &view.entries()[answered(view.entries())..];
    let long = newest
        .iter()
        .filter(|entry| entry.message.role == Role::Tool && entry.tokens > MASK_FROM);
    let number = u64::try_from(long.count()).ok().filter(|number| *number > 0)?;
    let room = limit.unwrap_or(u64::MAX).min(view.tokens());
    let mask = Mask {
        until: newest.last()?.events.last()?.clone(),
        tools: String::new(),
        keep: (room / 2 / number).max(MASK_FROM),
    };
    (saved(&mask, view)? > 0).then_some(Plan::Mask(mask))
}

/// The mask, if it saves enough. Less would have to be done again soon, and each time the provider's cache begins anew.
fn worthwhile(mask: Mask, view: &View) -> Option<Plan> {
    (saved(&mask, view)? * 5 >= view.tokens()).then_some(Plan::Mask(mask))
}

/// How many tokens a mask saves.
fn saved(mask: &Mask, view: &View) -> Option<u64> {
    let entries = view.entries();
    let end = entries
        .iter()
        .rposition(|entry| entry.events.contains(&mask.until))?;
    let left = mask.keep.max(MASK_FROM / 4);
    let covered = entries[..=end].iter().filter(|entry| mask.covers(entry));
    Some(covered.map(|entry| entry.tokens.saturating_sub(left)).sum())
}

/// Masks what the browser has shown, but for the newest pages and those that the model is still to read.
pub(super) fn mask_browser(view: &View, keep: usize) -> Option<Plan> {
    let mask = |until: &EventId| Mask {
        until: until.clone(),
        tools: BROWSER.to_owned(),
        keep: 0,
    };
    let any = mask(&EventId(String::new()));
    let entries = view.entries();
    let long = |entries: &[Entry]| -> Vec<EventId> {
        let long = entries.iter().filter(|entry| any.covers(entry));
        long.filter_map(|entry| entry.events.last().cloned()).collect()
    };
    let old = long(&entries[..answered(entries)]);
    let masked = old.len().min(long(entries).len().saturating_sub(keep));
    Some(Plan::Mask(mask(old.get(masked.checked_sub(1)?)?)))
}
