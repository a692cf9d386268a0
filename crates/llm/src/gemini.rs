//! The Gemini API of Google.

mod body;
mod call_id;
mod reader;
mod schema;
mod signed_part;

use deft_types::{Secret, Tokens};
use reqwest::Url;
use reqwest::header::HeaderMap;
use serde_json::{Map, Value, json};

pub(crate) use self::call_id::bare as bare_call_id;
use self::reader::ReplyReader;
use crate::api::{AnswerReader, Api, Post, secret_header};
use crate::count::Question;
use crate::{ModelError, ModelProfile, Request, Tuning};

/// The first generation that shows its thoughts.
const FIRST_WITH_THOUGHTS: f32 = 2.5;
/// The first generation that refuses calls in the history without a signature.
const FIRST_WITH_SIGNATURES: f32 = 3.0;

/// The Gemini API, set up for one model.
pub(crate) struct GeminiApi {
    /// Where requests go.
    url: Url,
    api_key: Option<Secret<String>>,
    max_output: Option<Tokens>,
    accepts_images: bool,
    generation: Generation,
    /// Only what the model takes.
    tuning: Tuning,
}

impl GeminiApi {
    pub(crate) fn new(
        base: &Url,
        wire_name: &str,
        api_key: Option<Secret<String>>,
        tuning: Tuning,
        profile: &ModelProfile,
    ) -> Self {
        Self {
            url: address(base, wire_name),
            api_key,
            max_output: profile.max_output,
            accepts_images: profile.capabilities.vision,
            generation: Generation::of(wire_name),
            tuning,
        }
    }
}

impl Api for GeminiApi {
    fn post(&self, request: &Request) -> Result<Post, ModelError> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &self.api_key {
            headers.insert("x-goog-api-key", secret_header(key.expose())?);
        }
        Ok(Post {
            url: self.url.clone(),
            headers,
            body: body::of(self, request)?,
        })
    }

    fn reader(&self) -> Box<dyn AnswerReader> {
        Box::new(ReplyReader::default())
    }

    fn count(&self, request: &Request) -> Option<Question> {
        let post = self.post(request).ok()?;
        let (model, _) = post.url.path().rsplit_once(':')?;
        let (_, name) = model.rsplit_once("models/")?;
        let mut body: Map<String, Value> = serde_json::from_slice(&post.body).ok()?;
        body.insert("model".to_owned(), format!("models/{name}").into());
        let mut url = post.url.clone();
        url.set_query(None);
        url.set_path(&format!("{model}:countTokens"));
        let body = json!({ "generateContentRequest": body });
        Some(Question::new(post.to(url, &body), "/totalTokens"))
    }
}

/// Which generation of Gemini a model is of, as its name says: 2.5, 3 … An alias such as `gemini-pro-latest` is
/// of the newest; another family of models (`gemma`) is of none.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Generation(f32);

impl Generation {
    fn of(name: &str) -> Self {
        let Some((_, rest)) = name.split_once("gemini-") else {
            return Self(0.0);
        };
        let number = rest.split('-').next().unwrap_or_default();
        Self(number.parse().unwrap_or(f32::INFINITY))
    }

    fn shows_thoughts(self) -> bool {
        self.0 >= FIRST_WITH_THOUGHTS
    }

    fn wants_signatures(self) -> bool {
        self.0 >= FIRST_WITH_SIGNATURES
    }
}

/// Where a model's streamed replies are asked for, under a server's base address.
fn address(base: &Url, model: &str) -> Url {
    let mut url = base.clone();
    let path = match url.path().trim_end_matches('/') {
        "" => "/v1beta",
        path => path,
    };
    url.set_path(&format!("{path}/models/{model}:streamGenerateContent"));
    url.query_pairs_mut().append_pair("alt", "sse");
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_name_the_model_in_their_address() {
        let cases = [
            (
                "https://generativelanguage.googleapis.com/v1beta",
                "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
            ),
            (
                "http://localhost:4010",
                "http://localhost:4010/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
            ),
            (
                "http://proxy/google/v1/",
                "http://proxy/google/v1/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
            ),
        ];
        for (base, expected) in cases {
            let url = address(&Url::parse(base).unwrap(), "gemini-2.5-pro");
            assert_eq!(url.as_str(), expected, "{base}");
        }
    }

    #[test]
    fn the_name_tells_the_generation() {
        let cases = [
            ("gemini-1.5-pro", false, false),
            ("gemini-2.0-flash", false, false),
            ("gemini-2.5-flash-lite", true, false),
            ("gemini-3-flash-preview", true, true),
            ("gemini-3.1-pro-preview", true, true),
            ("gemini-pro-latest", true, true),
            ("gemma-3-27b-it", false, false),
        ];
        for (name, thoughts, signatures) in cases {
            let generation = Generation::of(name);
            assert_eq!(
                (generation.shows_thoughts(), generation.wants_signatures()),
                (thoughts, signatures),
                "{name}"
            );
        }
    }
}
