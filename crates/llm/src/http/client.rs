//! The HTTP client, and where it sends requests.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, Url};
use rustls::{ClientConfig, RootCertStore};

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
    Tls(#[from] rustls::Error),
    #[error(transparent)]
    Http(#[from] reqwest::Error),
}

/// One client per model: it keeps connections open between calls.
pub(crate) fn new_client(connect_timeout: Duration) -> Result<Client, ClientError> {
    // The certificates are built in, because an empty container has none. The cryptography is chosen here
    // and not for the whole process, which may belong to somebody else.
    let roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    let mut tls = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let client = Client::builder()
        .tls_backend_preconfigured(tls)
        .connect_timeout(connect_timeout)
        .user_agent(concat!("deft/", env!("CARGO_PKG_VERSION")))
        .build()?;
    Ok(client)
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

    #[test]
    fn a_client_needs_no_certificates_on_the_machine() {
        assert!(new_client(Duration::from_secs(1)).is_ok());
    }
}
