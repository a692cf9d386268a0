//! What the APIs of OpenAI share: where a model is, what it takes, and who asks.

use deft_types::{Secret, Tokens};
use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;

use crate::api::{Post, secret_header};
use crate::provider::Dialect;
use crate::{Capabilities, ModelError, Tuning};

/// Stands where an image was.
pub(crate) const NO_IMAGES: &str = "[An image was left out: this model does not take images.]";

/// How long a provider is asked to keep what it cached, where it can be asked.
pub(crate) const CACHE_RETENTION: &str = "24h";

/// A model behind one of OpenAI's APIs.
pub(crate) struct Endpoint {
    /// The name that the server knows the model by.
    pub(crate) wire_name: String,
    pub(crate) dialect: Dialect,
    /// Where requests go.
    pub(crate) url: Url,
    pub(crate) api_key: Option<Secret<String>>,
    pub(crate) max_output: Option<Tokens>,
    pub(crate) capabilities: Capabilities,
    /// Only what the model takes.
    pub(crate) tuning: Tuning,
}

impl Endpoint {
    /// The HTTP request with that body.
    pub(crate) fn post(&self, body: &impl Serialize) -> Result<Post, ModelError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(key) = &self.api_key {
            let (name, value) = match self.dialect {
                Dialect::Azure => (HeaderName::from_static("api-key"), key.expose().clone()),
                Dialect::OpenAi
                | Dialect::Proxy
                | Dialect::Compatible
                | Dialect::OpenRouter
                | Dialect::Strict
                | Dialect::Local(_) => (AUTHORIZATION, format!("Bearer {}", key.expose())),
            };
            headers.insert(name, secret_header(&value)?);
        }
        Ok(Post {
            url: self.url.clone(),
            headers,
            body: self.tuning.body(body)?,
        })
    }
}

/// The address of an API under a server's base address, which may already name one.
pub(crate) fn address(base: &Url, api: &str) -> Url {
    let mut url = base.clone();
    let path = url.path().trim_end_matches('/');
    let path = ["/chat/completions", "/responses"]
        .into_iter()
        .find_map(|known| path.strip_suffix(known))
        .unwrap_or(path)
        .to_owned();
    url.set_path(&format!("{path}/{api}"));
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_go_to_the_api_under_the_base_address() {
        let cases = [
            ("https://api.openai.com/v1", "https://api.openai.com/v1/responses"),
            ("http://localhost:8000/v1/", "http://localhost:8000/v1/responses"),
            ("http://host/v1/chat/completions", "http://host/v1/responses"),
            ("http://host/v1/responses?a=b", "http://host/v1/responses?a=b"),
        ];
        for (base, expected) in cases {
            let url = address(&Url::parse(base).unwrap(), "responses");
            assert_eq!(url.as_str(), expected, "{base}");
        }
        let url = address(
            &Url::parse("http://host/v1/chat/completions").unwrap(),
            "chat/completions",
        );
        assert_eq!(url.as_str(), "http://host/v1/chat/completions");
    }
}
