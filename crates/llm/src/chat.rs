//! The OpenAI chat API, which most servers speak.

mod body;
mod chunk;
mod reader;

use deft_types::{Secret, Tokens};
use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue};

use self::reader::ReplyReader;
use crate::api::{AnswerReader, Api, Post};
use crate::provider::Dialect;
use crate::{ModelError, Request};

/// The OpenAI chat API, set up for one model.
pub(crate) struct ChatApi {
    /// The name that the server knows the model by.
    pub(crate) wire_name: String,
    pub(crate) dialect: Dialect,
    /// Where requests go.
    pub(crate) url: Url,
    pub(crate) api_key: Option<Secret<String>>,
    pub(crate) max_output: Option<Tokens>,
    pub(crate) accepts_images: bool,
}

impl Api for ChatApi {
    fn post(&self, request: &Request) -> Result<Post, ModelError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(key) = &self.api_key {
            headers.insert(AUTHORIZATION, secret_header(&format!("Bearer {}", key.expose()))?);
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
}

/// A header that nobody logs.
pub(crate) fn secret_header(text: &str) -> Result<HeaderValue, ModelError> {
    let mut value = HeaderValue::from_str(text).map_err(|_| ModelError::Authentication {
        detail: "the key has characters that cannot be sent".to_owned(),
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// The address of chat completions under a server's base address.
pub(crate) fn address(base: &Url) -> Url {
    let mut url = base.clone();
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/chat/completions").unwrap_or(path).to_owned();
    url.set_path(&format!("{path}/chat/completions"));
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_go_to_chat_completions_under_the_base_address() {
        let cases = [
            (
                "https://api.openai.com/v1",
                "https://api.openai.com/v1/chat/completions",
            ),
            (
                "http://localhost:8000/v1/",
                "http://localhost:8000/v1/chat/completions",
            ),
            (
                "http://host/v1/chat/completions",
                "http://host/v1/chat/completions",
            ),
        ];
        for (base, expected) in cases {
            assert_eq!(address(&Url::parse(base).unwrap()).as_str(), expected, "{base}");
        }
    }
}
