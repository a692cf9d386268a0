//! What open calls have written so far, for whoever begins to watch in the middle of one.

use std::collections::VecDeque;

use deft_types::ActionId;

/// How much of one call is kept at least; the end of it.
const KEPT_BYTES: usize = 64 * 1024;
/// Calls that are kept; beyond it the oldest is forgotten.
const MAX_CALLS: usize = 32;

/// See the module.
#[derive(Default)]
pub(crate) struct Written(VecDeque<(ActionId, String)>);

impl Written {
    pub(crate) fn add(&mut self, action: &ActionId, chunk: &str) {
        let Some((_, text)) = self.0.iter_mut().find(|(known, _)| known == action) else {
            if self.0.len() == MAX_CALLS {
                self.0.pop_front();
            }
            self.0.push_back((action.clone(), end_of(chunk).to_owned()));
            return;
        };
        text.push_str(chunk);
        if text.len() > 2 * KEPT_BYTES {
            *text = end_of(text).to_owned();
        }
    }

    /// A call has its answer, which says it all.
    pub(crate) fn forget(&mut self, action: &ActionId) {
        self.0.retain(|(known, _)| known != action);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn all(&self) -> Vec<(ActionId, String)> {
        self.0.iter().cloned().collect()
    }
}

fn end_of(text: &str) -> &str {
    let from = text.len().saturating_sub(KEPT_BYTES);
    &text[text.ceil_char_boundary(from)..]
}

#[cfg(test)]
mod tests {
    use deft_types::EventId;

    use super::*;

    #[test]
    fn the_end_of_what_was_written_is_kept_until_the_answer_comes() {
        let mut written = Written::default();
        let [one, other] = ["a", "b"].map(|id| EventId(id.to_owned()));
        written.add(&one, "first ");
        written.add(&other, "else");
        written.add(&one, "second");
        assert_eq!(written.all()[0], (one.clone(), "first second".to_owned()));
        written.forget(&one);
        assert_eq!(written.all(), [(other.clone(), "else".to_owned())]);
        for _ in 0..100 {
            written.add(&other, &"é".repeat(1024));
        }
        let kept = &written.all()[0].1;
        assert!(kept.len() >= KEPT_BYTES && kept.len() <= 2 * KEPT_BYTES && kept.ends_with('é'));
    }
}
