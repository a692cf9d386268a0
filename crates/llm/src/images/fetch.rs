//! Fetches images from the web.

use std::net::IpAddr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deft_net::{Guard, admits, is_private_name};
use deft_types::is_public;
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use rustls::ClientConfig;
use tokio::time::timeout;

use super::MAX_IMAGE_BYTES;

/// How often a server may send us elsewhere.
const MAX_REDIRECTS: usize = 5;

/// How long all of it may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(30);

/// What providers take.
const KINDS: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Why an image was not fetched: words to go on a line for the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("its address cannot be used")]
    BadAddress,
    #[error("its address is not on the public internet")]
    Private,
    #[error("its server sent us elsewhere more than {MAX_REDIRECTS} times")]
    Redirects,
    #[error("its server answered with HTTP {0}")]
    Status(u16),
    #[error("what is at its address is not a PNG, JPEG, GIF or WebP image")]
    NoImage,
    #[error("it is larger than {} MB", MAX_IMAGE_BYTES / 1024 / 1024)]
    TooLarge,
    #[error("its server did not send it within {} s", FETCH_TIMEOUT.as_secs())]
    Timeout,
    #[error("its server could not be reached")]
    Network,
}

/// Fetches images from addresses that are allowed.
pub(crate) struct Fetcher {
    client: Client,
    allows: fn(IpAddr) -> bool,
}

impl Fetcher {
    /// A fetcher of what is on the public internet. It uses no proxy: one could reach what we must not.
    pub(crate) fn new(tls: ClientConfig) -> reqwest::Result<Self> {
        Self::with_rule(tls, is_public)
    }

    pub(super) fn with_rule(tls: ClientConfig, allows: fn(IpAddr) -> bool) -> reqwest::Result<Self> {
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .user_agent(concat!("deft/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::none())
            .no_proxy()
            .dns_resolver(Guard { allows })
            .build()?;
        Ok(Self { client, allows })
    }

    /// The image at an address, as a `data:` address.
    pub(super) async fn fetch(&self, address: &str) -> Result<String, FetchError> {
        let url = Url::parse(address).map_err(|_| FetchError::BadAddress)?;
        timeout(FETCH_TIMEOUT, self.follow(url))
            .await
            .map_err(|_| FetchError::Timeout)?
    }

    async fn follow(&self, mut url: Url) -> Result<String, FetchError> {
        for _ in 0..=MAX_REDIRECTS {
            self.check(&url)?;
            let response = self
                .client
                .get(url.clone())
                .send()
                .await
                .map_err(|error| refusal(&error))?;
            if !response.status().is_redirection() {
                return read(response).await;
            }
            let location = response
                .headers()
                .get(LOCATION)
                .and_then(|value| value.to_str().ok());
            let location = location.ok_or(FetchError::Status(response.status().as_u16()))?;
            url = url.join(location).map_err(|_| FetchError::BadAddress)?;
        }
        Err(FetchError::Redirects)
    }

    fn check(&self, url: &Url) -> Result<(), FetchError> {
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(FetchError::BadAddress);
        }
        if admits(url, self.allows) {
            Ok(())
        } else {
            Err(FetchError::Private)
        }
    }
}

async fn read(response: Response) -> Result<String, FetchError> {
    if !response.status().is_success() {
        return Err(FetchError::Status(response.status().as_u16()));
    }
    let kind = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind
        .and_then(|kind| kind.split(';').next())
        .unwrap_or_default()
        .trim()
        .to_lowercase();
    if !KINDS.contains(&kind.as_str()) {
        return Err(FetchError::NoImage);
    }
    let bytes = deft_net::body(response, MAX_IMAGE_BYTES).await;
    let bytes = bytes.map_err(|error| refusal(&error))?;
    let bytes = bytes.ok_or(FetchError::TooLarge)?;
    Ok(format!("data:{kind};base64,{}", STANDARD.encode(bytes)))
}

fn refusal(error: &reqwest::Error) -> FetchError {
    if is_private_name(error) {
        FetchError::Private
    } else {
        FetchError::Network
    }
}
