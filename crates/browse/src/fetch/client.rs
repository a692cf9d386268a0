//! Gets what is at an address, through the gate, wherever the server sends us.

use std::path::Path;
use std::sync::Arc;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, HeaderMap, HeaderValue, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Response, StatusCode, Url};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use super::body::Body;
use super::{FetchError, MAX_REDIRECTS};
use crate::gate::Gate;
use crate::proxy::Proxy;
use crate::web_address;

/// What a server answered, after all redirects.
pub(super) struct Fetched {
    pub(super) url: Url,
    pub(super) status: StatusCode,
    pub(super) body: Body,
}

/// Asks servers.
pub(super) struct Client {
    http: reqwest::Client,
    proxy: Proxy,
}

impl Client {
    pub(super) async fn new(gate: Gate, certificates: Option<&Path>) -> Result<Self, FetchError> {
        let setup = |error: &dyn std::error::Error| FetchError::Setup(error.to_string());
        let proxy = Proxy::start(gate).await.map_err(|error| setup(&error))?;
        let address = format!("socks5h://{}", proxy.address());
        let mut headers = HeaderMap::new();
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("text/markdown, text/html;q=0.9, */*;q=0.8"),
        );
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls(certificates).map_err(|error| setup(&error))?)
            .user_agent(concat!("deft/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .redirect(Policy::none())
            .proxy(reqwest::Proxy::all(address).map_err(|error| setup(&error))?)
            .build()
            .map_err(|error| setup(&error))?;
        Ok(Self { http, proxy })
    }

    pub(super) async fn get(&self, mut url: Url) -> Result<Fetched, FetchError> {
        for _ in 0..=MAX_REDIRECTS {
            let sent = self.http.get(url.clone()).send().await;
            let response = sent.map_err(|error| self.failure(&url, &error))?;
            let status = response.status();
            match location(&response) {
                Some(location) if status.is_redirection() => {
                    let next = url
                        .join(location)
                        .map_err(|_| web_address::BadAddress::Malformed(location.into()))?;
                    url = web_address::parse(next.as_str())?;
                }
                Some(_) | None => {
                    let body = Body::read(response).await?;
                    return Ok(Fetched { url, status, body });
                }
            }
        }
        Err(FetchError::Redirects(url.into()))
    }

    /// Says what is at the bottom of it.
    fn failure(&self, url: &Url, error: &reqwest::Error) -> FetchError {
        match url
            .host_str()
            .and_then(|host| self.proxy.failure(host))
            .filter(|_| error.is_connect())
        {
            Some(reason) => FetchError::Refused(reason),
            None => super::network(error),
        }
    }
}

fn location(response: &Response) -> Option<&str> {
    response.headers().get(LOCATION)?.to_str().ok()
}

/// The certificates are built in, because an empty container has none; a company's own stand beside them.
fn tls(certificates: Option<&Path>) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    let own = certificates.and_then(|path| CertificateDer::pem_file_iter(path).ok());
    // What cannot be read makes a connection fail, which says so.
    roots.add_parsable_certificates(own.into_iter().flatten().flatten());
    let mut tls = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(tls)
}
