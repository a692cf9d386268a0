//! Parts of messages and of observations.

use serde::{Deserialize, Serialize};

use crate::tagged::Extra;

/// One part of a message: text or images.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Plain text.
    Text(TextContent),
    /// Images by URL or `data:` URL.
    Image(ImageContent),
}

/// Plain text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TextContent {
    /// Whether a provider should set a cache mark after this part.
    #[serde(default)]
    pub cache_prompt: bool,
    /// The text.
    pub text: String,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// A list of images.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImageContent {
    /// Whether a provider should set a cache mark after this part.
    #[serde(default)]
    pub cache_prompt: bool,
    /// URLs or `data:` URLs.
    pub image_urls: Vec<String>,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Content {
    /// A text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent {
            text: text.into(),
            ..TextContent::default()
        })
    }

    /// The text of this part, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(body) => Some(&body.text),
            Self::Image(_) => None,
        }
    }
}

/// All text of a list of parts, parts separated by a line break.
pub fn text_of(content: &[Content]) -> String {
    content
        .iter()
        .filter_map(Content::as_text)
        .collect::<Vec<_>>()
        .join("\n")
}
