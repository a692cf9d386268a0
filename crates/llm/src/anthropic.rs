//! The Anthropic Messages API.

mod body;
mod event;
mod reader;

use deft_types::{Secret, Tokens};
use reqwest::Url;
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};

use self::reader::ReplyReader;
use crate::api::{AnswerReader, Api, Post, secret_header};
use crate::claude::{INTERLEAVED_THINKING, Thinking};
use crate::count::Question;
use crate::{ModelError, Request, Tuning};

/// The version of the API that we speak.
const VERSION: &str = "2023-06-01";

/// The API wants a limit of the output, also for models whose own nobody knows.
pub(crate) const DEFAULT_MAX_OUTPUT: Tokens = Tokens(8_192);

/// The Anthropic Messages API, set up for one model.
pub(crate) struct AnthropicApi {
    /// The name that the server knows the model by.
    pub(crate) wire_name: String,
    /// Where requests go.
    pub(crate) url: Url,
    pub(crate) api_key: Option<Secret<String>>,
    pub(crate) max_output: Tokens,
    pub(crate) accepts_images: bool,
    pub(crate) takes_cache_marks: bool,
    pub(crate) thinking: Option<Thinking>,
    /// Only what the model takes.
    pub(crate) tuning: Tuning,
}

impl Api for AnthropicApi {
    fn post(&self, request: &Request) -> Result<Post, ModelError> {
        let thinking = self.thinking.filter(|thinking| thinking.fits(&request.messages));
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert("anthropic-version", HeaderValue::from_static(VERSION));
        if let Some(Thinking::Manual { .. }) = thinking {
            headers.insert("anthropic-beta", HeaderValue::from_static(INTERLEAVED_THINKING));
        }
        if let Some(key) = &self.api_key {
            headers.insert("x-api-key", secret_header(key.expose())?);
        }
        Ok(Post {
            url: self.url.clone(),
            headers,
            body: body::of(self, thinking, request)?,
        })
    }

    fn reader(&self) -> Box<dyn AnswerReader> {
        Box::new(ReplyReader::default())
    }

    fn count(&self, request: &Request) -> Option<Question> {
        let post = self.post(request).ok()?;
        let fields = post.fields(&["model", "messages", "system", "tools", "thinking"])?;
        let mut url = post.url.clone();
        url.set_path(&format!("{}/count_tokens", url.path()));
        Some(Question::new(post.to(url, &fields.into()), "/input_tokens"))
    }
}

/// The address of messages under a server's base address, which people write with and without the version.
pub(crate) fn address(base: &Url) -> Url {
    let mut url = base.clone();
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/messages").unwrap_or(path);
    let path = path.strip_suffix("/v1").unwrap_or(path).to_owned();
    url.set_path(&format!("{path}/v1/messages"));
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_go_to_messages_under_the_base_address() {
        let cases = [
            (
                "https://api.anthropic.com",
                "https://api.anthropic.com/v1/messages",
            ),
            ("http://host:1/v1/", "http://host:1/v1/messages"),
            ("http://host/proxy/v1/messages", "http://host/proxy/v1/messages"),
        ];
        for (base, expected) in cases {
            assert_eq!(address(&Url::parse(base).unwrap()).as_str(), expected, "{base}");
        }
    }
}
