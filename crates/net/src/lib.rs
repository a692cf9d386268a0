//! How we reach servers: which certificates are trusted, a client that takes our secrets nowhere else, which addresses may
//! be asked, and how much of an answer is read.
//!
//! It knows nothing of what is asked or answered. Begin reading at [`tls`].

mod body;
mod guard;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use url::{Host, Url};

pub use body::{body, reason};
pub use guard::{Guard, admits, is_private_name};

/// How long to wait for a connection, unless somebody says otherwise.
pub const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Why no server can be reached.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
    /// A file of certificates cannot be used.
    #[error("`ca_file` {path} holds no certificate that can be used: {reason}")]
    Certificates {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The client cannot be made.
    #[error("no connection can be made: {}", root_cause(.0))]
    Client(#[from] reqwest::Error),
}

/// The certificates are built in, because an empty container has none; a company's own stand beside them.
/// The cryptography is chosen here and not for the whole process, which may belong to somebody else.
pub fn tls(ca_file: Option<&Path>) -> Result<ClientConfig, NetError> {
    let mut roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    if let Some(path) = ca_file {
        let unusable = |reason: String| NetError::Certificates {
            path: path.to_owned(),
            reason,
        };
        let certificates: Vec<_> = CertificateDer::pem_file_iter(path)
            .and_then(Iterator::collect)
            .map_err(|error| unusable(error.to_string()))?;
        if certificates.is_empty() {
            return Err(unusable("it is not in PEM form".to_owned()));
        }
        for certificate in certificates {
            roots
                .add(certificate)
                .map_err(|error| unusable(error.to_string()))?;
        }
    }
    let mut tls = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(tls)
}

/// A client for one address. It follows nobody elsewhere: a redirect would take our headers along, and could lead into a
/// network that only we can reach. Proxies are those of the environment, but this machine is not behind any.
pub fn client(ca_file: Option<&Path>, url: &Url) -> Result<Client, NetError> {
    Ok(builder(ca_file, url)?.build()?)
}

/// The same, to say more of it.
pub fn builder(ca_file: Option<&Path>, url: &Url) -> Result<ClientBuilder, NetError> {
    Ok(builder_with(tls(ca_file)?, url))
}

/// The same, for a server that is known by other certificates, or wants one of ours.
pub fn builder_with(tls: ClientConfig, url: &Url) -> ClientBuilder {
    let builder = Client::builder()
        .tls_backend_preconfigured(tls)
        .connect_timeout(CONNECT_LIMIT)
        .user_agent(concat!("deft/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none());
    if is_this_machine(url) {
        builder.no_proxy()
    } else {
        builder
    }
}

fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The innermost error says what happened; those around it only where.
pub fn root_cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => root_cause(source),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_certificates_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("ca.pem");
        let refusal = || tls(Some(&file)).unwrap_err().to_string();
        assert!(refusal().contains("ca.pem"), "it does not exist");
        std::fs::write(&file, "hello").unwrap();
        assert!(refusal().contains("not in PEM form"));
    }

    #[test]
    fn this_machine_is_known_in_every_spelling() {
        for (url, here) in [
            ("http://localhost:1/", true),
            ("http://127.1.2.3/", true),
            ("http://[::1]:80/", true),
            ("https://example.com/", false),
            ("http://localhost.example.com/", false),
        ] {
            assert_eq!(is_this_machine(&url.parse().unwrap()), here, "{url}");
        }
    }
}
