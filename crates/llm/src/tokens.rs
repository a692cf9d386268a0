//! How many tokens a request is, before a provider has counted them.
//!
//! An exact count needs the tokenizer of the very model, and most are not public. So this estimates by the kind of
//! characters, and each model's own counts, which come back with every reply, correct the estimate: after a few
//! calls it is right within a few percent. It is never zero for a request that says anything, because a caller that
//! thinks nothing was sent never shortens its history. [`crate::Model::count`] asks whoever knows better first.

#[cfg(test)]
mod tests;

use deft_types::{Content, Message, Tokens};
use serde_json::Value;

use crate::tokenizer::Tokenizer;
use crate::{Request, ToolSchema, Usage};

/// Hundredths of a token for a character of a class, fitted to two public tokenizers over prose, code, tables and
/// several languages.
mod hundredths {
    pub(super) const LETTER: u64 = 21;
    pub(super) const DIGIT: u64 = 65;
    pub(super) const MARK: u64 = 65;
    /// A single space joins the word after it; what follows it, as in indentation, comes in runs.
    pub(super) const SPACE: u64 = 12;
    pub(super) const LINE_BREAK: u64 = 50;
    /// A Latin letter with a mark breaks the word it stands in.
    pub(super) const MARKED_LETTER: u64 = 110;
    /// Alphabets besides Latin: Greek, Cyrillic, Arabic, Hebrew, Indic …
    pub(super) const OTHER_ALPHABET: u64 = 40;
    /// A sign that is a syllable or a word.
    pub(super) const IDEOGRAPH: u64 = 95;
    /// Emoji and other rare signs are spelled out byte by byte.
    pub(super) const RARE: u64 = 250;
}

/// What stands around a message or a tool: roles, separators, field names.
const TOKENS_PER_MESSAGE: u64 = 5;
const TOKENS_PER_CALL: u64 = 10;
const TOKENS_PER_TOOL: u64 = 12;

/// About what providers charge for an image of a screen.
const TOKENS_PER_IMAGE: u64 = 1_200;

/// How much of the newest count goes into the correction.
const LEARNING_RATE: f64 = 0.3;

/// The correction stays within these, whatever a server claims.
const MIN_RATIO: f64 = 0.25;
const MAX_RATIO: f64 = 4.0;

/// Counts the tokens of requests to one model, better with each reply.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenMeter {
    /// The provider's counts over our estimates, once there is one.
    ratio: Option<f64>,
}

impl TokenMeter {
    /// A meter that has seen no reply yet.
    pub const fn new() -> Self {
        Self { ratio: None }
    }

    /// About how many tokens a request is.
    pub fn count(&self, request: &Request) -> Tokens {
        self.correct(estimate(request))
    }

    /// An estimate, corrected by what was learned.
    pub fn correct(&self, estimate: Tokens) -> Tokens {
        match self.ratio {
            None => estimate,
            Some(ratio) => scaled(estimate, ratio),
        }
    }

    /// Learns from what the provider counted for a request. Nothing is learned where it did not count.
    pub fn learn(&mut self, request: &Request, usage: &Usage) {
        self.learn_from(estimate(request), usage);
    }

    /// Learns from what the provider counted for what was estimated so.
    pub fn learn_from(&mut self, estimate: Tokens, usage: &Usage) {
        if usage.prompt == Tokens::ZERO || estimate == Tokens::ZERO {
            return;
        }
        #[allow(clippy::cast_precision_loss)] // token counts are far below 2^52
        let newest = (usage.prompt.0 as f64 / estimate.0 as f64).clamp(MIN_RATIO, MAX_RATIO);
        self.ratio = Some(match self.ratio {
            None => newest,
            Some(ratio) => ratio + LEARNING_RATE * (newest - ratio),
        });
    }
}

impl Default for TokenMeter {
    fn default() -> Self {
        Self::new()
    }
}

fn scaled(tokens: Tokens, ratio: f64) -> Tokens {
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    // positive and far below 2^52
    Tokens((tokens.0 as f64 * ratio).ceil() as u64)
}

/// About how many tokens a request is, by its characters alone.
pub(crate) fn estimate(request: &Request) -> Tokens {
    summed(request, &of_text, &of_json)
}

/// The tokens of all texts of a request as a tokenizer counts them, and about what stands around them.
pub(crate) fn tokenized(request: &Request, tokenizer: Tokenizer) -> Tokens {
    let text = |text: &str| tokenizer.count(text);
    summed(request, &text, &|json| tokenizer.count(&json.to_string()))
}

fn summed(request: &Request, of_text: &dyn Fn(&str) -> u64, of_json: &dyn Fn(&Value) -> u64) -> Tokens {
    let messages = request
        .messages
        .iter()
        .map(|message| of_message(message, of_text));
    Tokens(messages.sum::<u64>() + of_tools(&request.tools, of_text, of_json))
}

/// About how many tokens a text is.
pub(crate) fn of_text(text: &str) -> u64 {
    let mut hundredths = 0;
    for c in text.chars() {
        hundredths += match c {
            'a'..='z' | 'A'..='Z' => hundredths::LETTER,
            ' ' | '\t' | '\r' => hundredths::SPACE,
            '\n' => hundredths::LINE_BREAK,
            '0'..='9' => hundredths::DIGIT,
            _ if c.is_ascii() => hundredths::MARK,
            '\u{80}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => hundredths::MARKED_LETTER,
            '\u{370}'..='\u{10ff}' | '\u{1f00}'..='\u{206f}' => hundredths::OTHER_ALPHABET,
            '\u{1100}'..='\u{11ff}'
            | '\u{2e80}'..='\u{d7ff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff00}'..='\u{ffef}' => hundredths::IDEOGRAPH,
            _ => hundredths::RARE,
        };
    }
    u64::div_ceil(hundredths, 100)
}

/// About how many tokens a message is.
pub fn message_tokens(message: &Message) -> Tokens {
    Tokens(of_message(message, &of_text))
}

/// About how many tokens tools are.
pub fn tool_tokens(tools: &[ToolSchema]) -> Tokens {
    Tokens(of_tools(tools, &of_text, &of_json))
}

fn of_tools(tools: &[ToolSchema], of_text: &dyn Fn(&str) -> u64, of_json: &dyn Fn(&Value) -> u64) -> u64 {
    let tool = |tool: &ToolSchema| {
        TOKENS_PER_TOOL + of_text(&tool.name) + of_text(&tool.description) + of_json(&tool.parameters)
    };
    tools.iter().map(tool).sum()
}

fn of_message(message: &Message, of_text: &dyn Fn(&str) -> u64) -> u64 {
    let content = message.content.iter().map(|part| match part {
        Content::Text(body) => of_text(&body.text),
        Content::Image(body) => TOKENS_PER_IMAGE * body.image_urls.len() as u64,
    });
    let calls = message.tool_calls.iter().flatten();
    let calls = calls.map(|call| TOKENS_PER_CALL + of_text(&call.name) + of_text(&call.arguments));
    let reasoning = message.reasoning_content.as_deref().map_or(0, of_text);
    TOKENS_PER_MESSAGE + content.sum::<u64>() + calls.sum::<u64>() + reasoning
}

/// Without writing it out: names, values and the marks around them.
fn of_json(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => 1 + of_text(text),
        Value::Array(items) => 1 + items.iter().map(of_json).sum::<u64>(),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| 2 + of_text(name) + of_json(value));
            1 + fields.sum::<u64>()
        }
    }
}
