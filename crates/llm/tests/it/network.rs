//! What stands between this machine and a server: proxies, certificates, headers.

use std::sync::Arc;
use std::time::Duration;

use deft_llm::{ModelError, ModelSettings, Proxies, Reply, complete, open};
use deft_types::Secret;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::server::{Act, Server, head};
use crate::{KEY, request, settings};

fn greeting() -> Vec<Act> {
    let chunk = json!({ "choices": [{ "delta": { "content": "Hi" }, "finish_reason": "stop" }] });
    vec![
        Act::Send(head("text/event-stream")),
        Act::Send(format!("data: {chunk}\n\ndata: [DONE]\n\n")),
    ]
}

async fn ask(settings: &ModelSettings) -> Result<Reply, ModelError> {
    complete(&*open("openai/gpt-4o", settings).unwrap(), request(), |_| ()).await
}

fn behind(proxy: &str, base_url: &str, no_proxy: Option<&str>) -> ModelSettings {
    let proxy = Some(Secret::new(proxy.to_owned()));
    ModelSettings {
        proxies: Proxies {
            http: proxy.clone(),
            https: proxy,
            no_proxy: no_proxy.map(str::to_owned),
        },
        ..settings(base_url.to_owned())
    }
}

#[tokio::test]
async fn a_plain_request_goes_through_the_proxy_which_finds_the_server() {
    let proxy = Server::start(greeting()).await;
    let address = proxy.base_url();
    let reply = ask(&behind(&address, "http://models.invalid/v1", None))
        .await
        .unwrap();
    assert_eq!(reply.text, "Hi");
    let line = proxy.request().await.head.lines().next().unwrap().to_owned();
    assert_eq!(line, "POST http://models.invalid/v1/chat/completions HTTP/1.1");
}

#[tokio::test]
async fn a_secure_request_goes_through_a_tunnel_and_the_proxy_sees_no_key() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://user:pass@{}", listener.local_addr().unwrap());
    let settings = behind(&proxy, "https://models.invalid/v1", None);
    let seen = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut seen = Vec::new();
        while !seen.ends_with(b"\r\n\r\n") {
            assert_ne!(stream.read_buf(&mut seen).await.unwrap(), 0, "the client closed");
        }
        stream.write_all(b"HTTP/1.1 403 Forbidden\r\n\r\n").await.unwrap();
        String::from_utf8(seen).unwrap()
    };
    let (seen, reply) = tokio::join!(seen, ask(&settings));
    assert!(
        seen.starts_with("CONNECT models.invalid:443 HTTP/1.1\r\n"),
        "{seen}"
    );
    assert!(
        seen.to_lowercase()
            .contains("proxy-authorization: basic dxnlcjpwyxnz"),
        "{seen}"
    );
    assert!(!seen.contains(KEY), "{seen}");
    let error = reply.unwrap_err();
    assert!(matches!(error, ModelError::Network { .. }), "{error:?}");
    assert!(!error.to_string().contains("pass"), "{error}");
}

#[tokio::test]
async fn servers_on_this_machine_and_those_excepted_are_reached_directly() {
    let nobody = "http://127.0.0.1:9";
    let server = Server::start(greeting()).await;
    assert_eq!(
        ask(&behind(nobody, &server.base_url(), None)).await.unwrap().text,
        "Hi"
    );

    // Without a proxy the name has to be looked up, and there is no such name.
    let settings = behind(
        &server.base_url(),
        "http://models.invalid/v1",
        Some("models.invalid"),
    );
    assert!(matches!(ask(&settings).await, Err(ModelError::Network { .. })));
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn headers_of_the_users_own_are_sent_and_never_shown() {
    let refusal = "no entry for team-secret-7 here";
    let answer = format!(
        "HTTP/1.1 403 No\r\ncontent-length: {}\r\n\r\n{refusal}",
        refusal.len()
    );
    let server = Server::start(vec![Act::Send(answer)]).await;
    let settings = ModelSettings {
        extra_headers: vec![("X-Team".to_owned(), Secret::new("team-secret-7".to_owned()))],
        ..settings(server.base_url())
    };
    let error = ask(&settings).await.unwrap_err().to_string();
    assert!(server.request().await.head.contains("x-team: team-secret-7"));
    assert!(error.contains("no entry for ********** here"), "{error}");
}

#[tokio::test]
async fn a_server_with_a_private_certificate_is_trusted_only_with_its_file() {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["localhost".to_owned()])
        .unwrap()
        .signed_by(&key, &authority)
        .unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("https://localhost:{}/v1", listener.local_addr().unwrap().port());
    let server = tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            // A client that does not trust us goes away here.
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let mut seen = Vec::new();
            while !seen.ends_with(b"}") {
                assert_ne!(stream.read_buf(&mut seen).await.unwrap(), 0, "the client closed");
            }
            for act in greeting() {
                if let Act::Send(text) = act {
                    stream.write_all(text.as_bytes()).await.unwrap();
                }
            }
            drop(stream.shutdown().await); // the client may be gone already
        }
    });

    let error = ask(&settings(base_url.clone())).await.unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");

    let directory = tempfile::tempdir().unwrap();
    let ca_file = directory.path().join("ca.pem");
    std::fs::write(&ca_file, authority.pem()).unwrap();
    let trusting = ModelSettings {
        ca_file: Some(ca_file),
        ..settings(base_url)
    };
    assert_eq!(ask(&trusting).await.unwrap().text, "Hi");
    server.abort();
}

#[tokio::test]
async fn a_local_server_may_be_silent_for_longer_while_it_loads_the_model() {
    let server = Server::start(vec![Act::Hold]).await;
    let settings = ModelSettings {
        idle_timeout: Duration::from_millis(20),
        ..settings(server.base_url())
    };
    let remote = open("openai/gpt-4o", &settings).unwrap();
    let error = complete(&*remote, request(), |_| ()).await.unwrap_err();
    assert!(matches!(error, ModelError::Timeout { .. }), "{error:?}");
    let local = open("vllm/some-model", &settings).unwrap();
    let waiting = complete(&*local, request(), |_| ());
    let outcome = tokio::time::timeout(Duration::from_millis(500), waiting).await;
    assert!(outcome.is_err(), "{outcome:?}");
}
