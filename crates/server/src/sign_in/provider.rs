//! The provider: what it says of itself, its keys, and its tokens.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use deft_net::root_cause;
use reqwest::{RequestBuilder, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::jwt::Keys;
use super::pending::Pending;
use super::settings::is_private;
use super::{Refusal, SignInSettings, plain};

/// How long it may take to answer, and how much it may say.
const TIME_LIMIT: Duration = Duration::from_secs(10);
const MAX_ANSWER: usize = 1024 * 1024;
/// How long what it says of itself counts.
const FRESH: Duration = Duration::from_secs(600);

/// What it says of itself.
#[derive(Clone, Deserialize)]
pub(super) struct Metadata {
    issuer: String,
    pub(super) authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
}

/// See the module.
pub(super) struct Provider {
    issuer: String,
    ca_file: Option<PathBuf>,
    known: Mutex<Option<(Instant, Metadata)>>,
}

impl Provider {
    pub(super) fn new(issuer: String, ca_file: Option<PathBuf>) -> Self {
        Self {
            issuer,
            ca_file,
            known: Mutex::default(),
        }
    }

    /// Where to log in and to get tokens.
    pub(super) async fn metadata(&self) -> Result<Metadata, Refusal> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, metadata)) = known.filter(|(read, _)| read.elapsed() < FRESH) {
            return Ok(metadata);
        }
        let issuer = self.issuer.trim_end_matches('/');
        let url = address(&format!("{issuer}/.well-known/openid-configuration"))?;
        let metadata: Metadata = self.ask(&url, |client| client.get(url.clone())).await?;
        if metadata.issuer != self.issuer {
            let sentence = format!("it calls itself {}", plain(&metadata.issuer));
            return Err(Refusal::Provider(sentence));
        }
        address(&metadata.authorization_endpoint)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some((Instant::now(), metadata.clone()));
        Ok(metadata)
    }

    /// The keys that it signs with now.
    pub(super) async fn keys(&self) -> Result<Keys, Refusal> {
        let url = address(&self.metadata().await?.jwks_uri)?;
        self.ask(&url, |client| client.get(url.clone())).await
    }

    /// Turns what a browser brought back into a token.
    pub(super) async fn exchange(
        &self,
        settings: &SignInSettings,
        begun: &Pending,
        code: &str,
    ) -> Result<String, Refusal> {
        let metadata = self.metadata().await?;
        let url = address(&metadata.token_endpoint)?;
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &begun.redirect),
            ("client_id", &settings.client_id),
            ("code_verifier", &begun.verifier),
        ];
        let secret = settings.client_secret.as_ref().map(deft_types::Secret::expose);
        let methods = &metadata.token_endpoint_auth_methods_supported;
        // Without a word from the provider, the standard says that it wants the first.
        let in_header = methods.is_empty() || methods.iter().any(|method| method == "client_secret_basic");
        if let Some(secret) = secret.filter(|_| !in_header) {
            form.push(("client_secret", secret));
        }
        let body: String = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(&form)
            .finish();
        let answer: Value = self
            .ask(&url, |client| {
                let request = client
                    .post(url.clone())
                    .header("Content-Type", "application/x-www-form-urlencoded")
                    .body(body);
                match secret.filter(|_| in_header) {
                    Some(secret) => request.basic_auth(encoded(&settings.client_id), Some(encoded(secret))),
                    None => request,
                }
            })
            .await?;
        let token = answer["id_token"].as_str();
        Ok(token.ok_or(Refusal::Token("there is no token"))?.to_owned())
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        address: &Url,
        request: impl FnOnce(reqwest::Client) -> RequestBuilder,
    ) -> Result<T, Refusal> {
        let failed = |reason: String| Refusal::Provider(reason);
        let unreachable = |error: reqwest::Error| failed(root_cause(&error));
        let client =
            deft_net::client(self.ca_file.as_deref(), address).map_err(|error| failed(error.to_string()))?;
        let request = request(client)
            .header("Accept", "application/json")
            .timeout(TIME_LIMIT);
        let answer = request.send().await.map_err(unreachable)?;
        let status = answer.status();
        let body = deft_net::body(answer, MAX_ANSWER).await.map_err(unreachable)?;
        let body = body.ok_or_else(|| failed("it says too much".to_owned()))?;
        if !status.is_success() {
            let said: Value = serde_json::from_slice(&body).unwrap_or_default();
            let said = plain(said["error"].as_str().unwrap_or_default());
            return Err(failed(format!(
                "{} answered {} {said}",
                address.path(),
                status.as_u16()
            )));
        }
        serde_json::from_slice(&body)
            .map_err(|_| failed(format!("{} answered something else", address.path())))
    }
}

/// An address that nobody on the way can read along at.
fn address(text: &str) -> Result<Url, Refusal> {
    let url = Url::parse(text).ok().filter(is_private);
    url.ok_or_else(|| Refusal::Provider("one of its addresses is not encrypted".to_owned()))
}

/// As the standard wants names and secrets in the header: what is special in a form is encoded.
fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
