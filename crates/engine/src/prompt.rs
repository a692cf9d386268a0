//! The system prompt: first what is the same for every conversation, then what is this one's own, so that
//! providers can share the cached beginning.

use deft_types::Timestamp;

/// The same for every conversation.
pub(crate) const STATIC: &str = include_str!("prompt/static.md");

/// This conversation's own; what changes most comes last. `added` is what people have added.
pub(crate) fn dynamic(workspace: &str, added: &[String], now: &Timestamp) -> String {
    let minute = now.0.get(..16).unwrap_or(&now.0).replace('T', " ");
    let added: String = added.iter().map(|part| format!("{part}\n\n")).collect();
    format!(
        "<workspace>\nYou work in {workspace} on {} ({}). Paths you pass to tools are absolute.\n</workspace>\n\n{added}\
         <time>\nThe conversation began on {minute}, local time.\n</time>",
        std::env::consts::OS,
        std::env::consts::ARCH,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_that_every_request_begins_with_is_short() {
        let now = Timestamp("2026-11-15T01:14:49.212782".to_owned());
        let characters = (STATIC.to_owned() + &dynamic("/workspace", &[], &now))
            .chars()
            .count();
        assert!(characters <= 8_000, "{characters} characters");
    }
}
