//! Words that try to talk an agent out of its task. They prove nothing, so they only make somebody look.

use std::sync::LazyLock;

use deft_types::SecurityRisk::Medium;
use regex::RegexSet;

use crate::verdict::Finding;
use crate::visible::visible;

/// Bytes of a text that are looked at, from its start and from its end.
const MAX_TEXT: usize = 32 * 1024;

const PHRASES: &[&str] = &[
    r"(?i)\b(ignore|forget|disregard|override|bypass|neglect)\b.{0,40}\b(previous|prior|above|earlier|all|system|your)\b.{0,30}\b(instructions?|prompts?|rules?|guidelines?|directives?)\b",
    r"(?i)\byou are now\b.{0,40}\b(in|a|an|the|no longer)\b",
    r"(?i)\b(enter|enable|switch to|activate)\b.{0,20}\b(developer|debug|admin|god|jailbreak|dan|unrestricted)\b.{0,10}\bmode\b",
    r"(?i)\b(pretend|act as if|roleplay)\b.{0,30}\b(you are|to be|no (rules|restrictions|limits))\b",
    r"(?i)\bdo not (tell|inform|mention|reveal)\b.{0,30}\b(the )?(user|human|operator)\b",
    r"(?i)<\s*/?\s*(system|important|instructions?)\s*>",
];

/// Whether one of the texts says such a thing.
pub(crate) fn judge<'t>(texts: impl Iterator<Item = &'t str>) -> Option<Finding> {
    static COMPILED: LazyLock<Option<RegexSet>> = LazyLock::new(|| RegexSet::new(PHRASES).ok());
    let phrases = COMPILED.as_ref()?;
    let suspicious = |text: &str| {
        let text = visible(text);
        let head = &text[..text.floor_char_boundary(MAX_TEXT)];
        let tail = &text[text.ceil_char_boundary(text.len().saturating_sub(MAX_TEXT))..];
        phrases.is_match(head) || phrases.is_match(tail)
    };
    let reason = "Its text tries to change what the agent was told.";
    texts
        .into_iter()
        .any(suspicious)
        .then(|| Finding::pattern(Medium, "injected-words", reason))
}
