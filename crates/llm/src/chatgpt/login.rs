//! How somebody logs in to `ChatGPT` from a machine without a browser: they type a code into a page that OpenAI shows them
//! elsewhere, and we ask until they have.

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use deft_types::Secret;
use reqwest::{RequestBuilder, StatusCode, Url};
use serde::Deserialize;
use serde_json::{Value, json};

use super::ChatGptServers;

/// The id of the public client whose logins are good for models.
const CLIENT_ID: &str = "app_EMoamEEZ73f0CkXaXp7hrann";
/// How long the issuer may take to answer, and how much it may say.
const TIME_LIMIT: Duration = Duration::from_secs(30);
const MAX_ANSWER: usize = 1024 * 1024;
/// How long to wait between questions, and how long a token is good, where the issuer does not say.
const INTERVAL: u64 = 5;
const LIFETIME: u64 = 3600;
/// Where tokens say whose they are.
const ACCOUNT_CLAIM: &str = "https://api.openai.com/auth";
const PROFILE_CLAIM: &str = "https://api.openai.com/profile";

/// Why nobody was logged in.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// The issuer cannot be reached: try again.
    #[error("the login server of OpenAI cannot be reached: {0}; try again")]
    Unreachable(String),
    /// It does not know logins by code.
    #[error("the login server of OpenAI does not offer logins by code; set an API key instead")]
    NotOffered,
    /// It refuses: the person logs in again.
    #[error("the login server of OpenAI refused with {0}; log in again")]
    Refused(StatusCode),
    /// It says something else than it should.
    #[error("the login server of OpenAI answered without `{0}`; this version of Deft may be too old for it")]
    Unexpected(&'static str),
}

/// A login that was begun.
#[derive(Clone)]
pub struct DeviceCode {
    /// What the person types.
    pub user_code: String,
    /// Where they type it.
    pub verification_uri: String,
    /// Seconds between two questions.
    pub interval: u64,
    /// What the issuer calls the login.
    id: Secret<String>,
}

/// What a login gives.
pub struct ChatGptTokens {
    /// Lets us in for a while.
    pub access: Secret<String>,
    /// Gets the next one.
    pub refresh: Option<Secret<String>>,
    /// How long the first is good.
    pub lifetime: Duration,
    /// The account that pays.
    pub account: Option<String>,
    /// Whose it is.
    pub email: Option<String>,
}

#[derive(Deserialize)]
struct Started {
    device_auth_id: Secret<String>,
    #[serde(alias = "usercode")]
    user_code: String,
    /// A number, or a text that is one.
    #[serde(default)]
    interval: Value,
}

#[derive(Deserialize)]
struct Agreed {
    authorization_code: Secret<String>,
    code_verifier: Secret<String>,
}

#[derive(Deserialize)]
struct Granted {
    access_token: Secret<String>,
    refresh_token: Option<Secret<String>>,
    id_token: Option<Secret<String>>,
    expires_in: Option<u64>,
}

/// Who gives tokens.
pub struct ChatGptIssuer {
    url: String,
    ca_file: Option<PathBuf>,
}

impl ChatGptIssuer {
    /// The issuer of these servers; certificates of a company's own stand in a file.
    pub fn new(servers: &ChatGptServers, ca_file: Option<PathBuf>) -> Self {
        Self {
            url: servers.issuer.trim_end_matches('/').to_owned(),
            ca_file,
        }
    }

    /// Begins a login.
    pub async fn start(&self) -> Result<DeviceCode, LoginError> {
        let asked = json!({ "client_id": CLIENT_ID });
        let (status, answer) = self
            .ask("/api/accounts/deviceauth/usercode", Sent::Json(asked))
            .await?;
        if status == StatusCode::NOT_FOUND {
            return Err(LoginError::NotOffered);
        }
        let started: Started = read(status, &answer, "user_code")?;
        let interval = match &started.interval {
            Value::String(text) => text.trim().parse().ok(),
            other => other.as_u64(),
        };
        Ok(DeviceCode {
            user_code: started.user_code,
            verification_uri: format!("{}/codex/device", self.url),
            interval: interval.unwrap_or(INTERVAL).max(1),
            id: started.device_auth_id,
        })
    }

    /// The tokens, if the person has agreed.
    pub async fn poll(&self, code: &DeviceCode) -> Result<Option<ChatGptTokens>, LoginError> {
        let asked = json!({"device_auth_id": code.id.expose(), "user_code": code.user_code});
        let (status, answer) = self
            .ask("/api/accounts/deviceauth/token", Sent::Json(asked))
            .await?;
        if matches!(status, StatusCode::FORBIDDEN | StatusCode::NOT_FOUND) {
            return Ok(None);
        }
        let agreed: Agreed = read(status, &answer, "authorization_code")?;
        let redirect = format!("{}/deviceauth/callback", self.url);
        let form = [
            ("grant_type", "authorization_code"),
            ("code", agreed.authorization_code.expose()),
            ("redirect_uri", &redirect),
            ("client_id", CLIENT_ID),
            ("code_verifier", agreed.code_verifier.expose()),
        ];
        self.granted(&form).await.map(Some)
    }

    /// New tokens for old ones.
    pub async fn refresh(&self, token: &Secret<String>) -> Result<ChatGptTokens, LoginError> {
        let form = [
            ("grant_type", "refresh_token"),
            ("refresh_token", token.expose().as_str()),
            ("client_id", CLIENT_ID),
        ];
        self.granted(&form).await
    }

    async fn granted(&self, form: &[(&str, &str)]) -> Result<ChatGptTokens, LoginError> {
        let (status, answer) = self.ask("/oauth/token", Sent::Form(form)).await?;
        let granted: Granted = read(status, &answer, "access_token")?;
        let access = claims(&granted.access_token);
        let identity = granted.id_token.as_ref().map(claims).unwrap_or_default();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Ok(ChatGptTokens {
            account: text(&access[ACCOUNT_CLAIM]["chatgpt_account_id"])
                .or_else(|| text(&identity[ACCOUNT_CLAIM]["chatgpt_account_id"])),
            email: text(&identity["email"]).or_else(|| text(&access[PROFILE_CLAIM]["email"])),
            access: granted.access_token,
            refresh: granted.refresh_token,
            lifetime: Duration::from_secs(granted.expires_in.unwrap_or(LIFETIME)),
        })
    }

    async fn ask(&self, path: &str, sent: Sent<'_>) -> Result<(StatusCode, Vec<u8>), LoginError> {
        let unreachable =
            |error: &dyn std::error::Error| LoginError::Unreachable(deft_net::root_cause(error));
        let url: Url = format!("{}{path}", self.url)
            .parse()
            .map_err(|error| unreachable(&error))?;
        let client = deft_net::client(self.ca_file.as_deref(), &url).map_err(|error| unreachable(&error))?;
        let request = sent.put_into(client.post(url)).timeout(TIME_LIMIT);
        let answer = request.send().await.map_err(|error| unreachable(&error))?;
        let status = answer.status();
        let body = deft_net::body(answer, MAX_ANSWER).await;
        let body = body.map_err(|error| unreachable(&error))?;
        let too_much = || LoginError::Unreachable("it says too much".to_owned());
        Ok((status, body.ok_or_else(too_much)?))
    }
}

/// The body of a request.
enum Sent<'a> {
    Json(Value),
    Form(&'a [(&'a str, &'a str)]),
}

impl Sent<'_> {
    fn put_into(self, request: RequestBuilder) -> RequestBuilder {
        let (kind, body) = match self {
            Self::Json(value) => ("application/json", value.to_string()),
            Self::Form(pairs) => {
                let mut form = form_urlencoded::Serializer::new(String::new());
                let body = form.extend_pairs(pairs).finish();
                ("application/x-www-form-urlencoded", body)
            }
        };
        request.header("Content-Type", kind).body(body)
    }
}

/// An answer; `field` is what it is asked for.
fn read<'a, T: Deserialize<'a>>(
    status: StatusCode,
    answer: &'a [u8],
    field: &'static str,
) -> Result<T, LoginError> {
    if !status.is_success() {
        return Err(LoginError::Refused(status));
    }
    serde_json::from_slice(answer).map_err(|_| LoginError::Unexpected(field))
}

/// What a token says of itself. It has come from the issuer itself, over a connection that nobody else can speak on, so
/// its signature adds nothing.
fn claims(token: &Secret<String>) -> Value {
    let payload = token.expose().split('.').nth(1).unwrap_or_default();
    let payload = BASE64URL.decode(payload).unwrap_or_default();
    serde_json::from_slice(&payload).unwrap_or_default()
}
