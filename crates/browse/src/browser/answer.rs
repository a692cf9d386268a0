//! What a call gives back.

use deft_types::{BrowserObservation, Content};

use super::problem::Problem;
use super::tabs::Note;
use crate::untrusted::fenced;

/// What a call gives back.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// What we say.
    pub(super) text: String,
    /// What the page says.
    pub(super) page: Option<String>,
    /// A picture, in base64.
    pub(super) screenshot: Option<String>,
    pub(super) is_error: bool,
}

impl Answer {
    pub(super) fn says(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// With something that the page says, or that could be words of the page.
    pub(super) fn with_page(self, page: impl Into<String>) -> Self {
        Self {
            page: Some(page.into()),
            ..self
        }
    }

    pub(super) fn into_observation(self, notes: Vec<Note>) -> BrowserObservation {
        let mut text = self.text;
        let mut page = Vec::new();
        for note in notes {
            match note {
                Note::Ours(note) => text.extend(["\n[", &note, "]"]),
                Note::Page(note) => page.push(note),
            }
        }
        page.extend(self.page);
        if !page.is_empty() {
            text.push('\n');
            text.push_str(&fenced("What the page says", &page.join("\n")));
        }
        BrowserObservation {
            content: vec![Content::text(text)],
            is_error: self.is_error,
            screenshot_data: self.screenshot,
            ..BrowserObservation::default()
        }
    }
}

impl From<Problem> for Answer {
    fn from(problem: Problem) -> Self {
        Self {
            is_error: true,
            ..Self::says(problem.to_string())
        }
    }
}
