//! The HTTP client, and where it sends requests.

use std::str::FromStr;

use deft_net::Guard;
use deft_types::{Secret, is_public};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};

use super::proxies::BadProxy;
use crate::{ModelSettings, Reach};

/// Why an address cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BadAddress(String);

/// A server's base address.
pub(crate) fn base_address(text: &str) -> Result<Url, BadAddress> {
    let url = Url::parse(text.trim()).map_err(|error| BadAddress(error.to_string()))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(BadAddress(format!("`{other}` is neither `http` nor `https`"))),
    }
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    #[error(transparent)]
    Net(#[from] deft_net::NetError),
    #[error(transparent)]
    Http(#[from] reqwest::Error),
    #[error(transparent)]
    Proxy(#[from] BadProxy),
    #[error(
        "the header `{0}` cannot be sent: its name or its value has characters that headers may not have"
    )]
    Header(String),
}

/// One client per model: it keeps connections open between calls. What the environment says of proxies is
/// not read here: the settings do.
pub(crate) fn new_client(settings: &ModelSettings) -> Result<Client, ClientError> {
    let mut client = Client::builder()
        .tls_backend_preconfigured(deft_net::tls(settings.ca_file.as_deref())?)
        .connect_timeout(settings.connect_timeout)
        .user_agent(concat!("deft/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers(&settings.extra_headers)?)
        // A server that sends us elsewhere would send our key along.
        .redirect(Policy::none())
        .no_proxy();
    if settings.reach == Reach::Public {
        // No proxy: one could reach what we must not.
        return Ok(client.dns_resolver(Guard { allows: is_public }).build()?);
    }
    for proxy in settings.proxies.rules()? {
        client = client.proxy(proxy);
    }
    Ok(client.build()?)
}

/// Headers of the user's own. A value may be a key, so none is ever logged.
fn headers(extra: &[(String, Secret<String>)]) -> Result<HeaderMap, ClientError> {
    let mut headers = HeaderMap::new();
    for (name, value) in extra {
        let bad = || ClientError::Header(name.clone());
        let mut value = HeaderValue::from_str(value.expose()).map_err(|_| bad())?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_str(name).map_err(|_| bad())?, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_none_is_refused() {
        for base in ["", "localhost:8000", "ftp://host/v1", "http://"] {
            assert!(base_address(base).is_err(), "{base}");
        }
    }

    fn refusal(settings: &ModelSettings) -> String {
        new_client(settings).unwrap_err().to_string()
    }

    #[test]
    fn a_client_needs_no_certificates_on_the_machine() {
        assert!(new_client(&ModelSettings::default()).is_ok());
    }

    #[test]
    fn a_header_that_cannot_be_sent_is_named_without_its_value() {
        for (name, value) in [("x-team", "bad\nvalue"), ("bad name", "value")] {
            let message = refusal(&ModelSettings {
                extra_headers: vec![(name.to_owned(), Secret::new(value.to_owned()))],
                ..ModelSettings::default()
            });
            assert!(
                message.contains(name) && !message.contains("bad\nvalue"),
                "{message}"
            );
        }
    }
}
