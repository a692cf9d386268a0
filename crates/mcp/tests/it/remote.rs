//! Servers at an address.

use std::sync::Arc;

use deft_mcp::{Login, McpServers, Network, ServerConfig};
use deft_types::{McpApprovals, McpServerState};
use futures::FutureExt;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{Started, Tokens, limits, npm, place};

/// The server in this form, and its port.
fn everything(form: &str) -> Option<(npm::Listening, u16)> {
    let script = npm::script(npm::EVERYTHING)?;
    let port = npm::free_port();
    let server = npm::Listening::start(&script, &[form], port, &[("PORT", port.to_string())]);
    Some((server, port))
}

#[tokio::test]
async fn a_server_is_used_over_streamable_http_and_over_events() {
    for (form, path) in [("streamableHttp", "mcp"), ("sse", "sse")] {
        let Some((server, port)) = everything(form) else {
            return;
        };
        let url = format!("http://localhost:{port}/{path}");
        let kind = if form == "sse" { "sse" } else { "http" };
        let started =
            Started::new(&json!({"far": {"type": kind, "url": url, "headers": {"X-Team": "t"}}})).await;
        assert_eq!(
            started.text("far_echo", json!({"message": form})).await,
            format!("Echo: {form}")
        );

        // A server that is gone fails its calls, and only those.
        drop(server);
        let gone = started.call("far_echo", json!({"message": "x"})).await;
        assert!(gone.is_error, "{gone:?}");
        let again = started.text("far_echo", json!({"message": "x"})).await;
        assert!(again.contains("is not there"), "{again}");
        started.servers.close().await;
    }
}

#[tokio::test]
async fn an_address_where_nobody_listens_fails_with_a_reason_and_stops_nobody() {
    let dead = json!({"url": format!("http://127.0.0.1:{}/mcp", npm::free_port())});
    let old = json!({"url": format!("http://127.0.0.1:{}/sse", npm::free_port()), "type": "sse"});
    let started = Started::new(&json!({"dead": dead, "old": old})).await;
    assert!(
        started.failure("dead").contains("cannot be reached"),
        "{}",
        started.failure("dead")
    );
    assert!(
        started.failure("old").contains("cannot be reached"),
        "{}",
        started.failure("old")
    );
}

#[tokio::test]
async fn a_login_is_asked_for_made_and_kept() {
    let Some(script) = npm::script(npm::WITH_LOGIN) else {
        return;
    };
    let (port, login_port) = (npm::free_port(), npm::free_port());
    let ports = [
        ("MCP_PORT", port.to_string()),
        ("MCP_AUTH_PORT", login_port.to_string()),
    ];
    let _server = npm::Listening::start(&script, &["--oauth"], port, &ports);
    let url = format!("http://localhost:{port}/mcp");

    let started = Started::new(&json!({"far": {"url": url}})).await;
    assert!(
        started.failure("far").contains("wants a login"),
        "{}",
        started.failure("far")
    );

    let config = json!({"far": {"url": url, "auth": "oauth"}});
    let configs = ServerConfig::parse(&config).unwrap();
    let tokens = Arc::new(Tokens::default());
    let redirect = "http://localhost:1/callback";
    let login = Login::begin(&configs[0], redirect, &Network::default(), tokens.clone())
        .await
        .unwrap();
    // This server agrees without asking anybody.
    let browser = reqwest::Client::builder()
        .tls_backend_preconfigured(tls())
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .unwrap();
    let answer = browser.get(login.url()).send().await.unwrap();
    let callback = answer.headers()["location"].to_str().unwrap().to_owned();
    assert!(callback.starts_with(redirect), "{callback}");
    login.finish(&callback).await.unwrap();
    assert_eq!(tokens.0.lock().unwrap().len(), 1);

    let workspace = tempfile::tempdir().unwrap();
    let place = deft_mcp::Place {
        tokens,
        ..place(&workspace)
    };
    let servers = McpServers::start(configs, &place, &limits(), &McpApprovals::new(), []);
    servers.started().await;
    let status = servers.statuses().remove(0);
    assert!(
        matches!(&status.state, McpServerState::Ready { tools } if !tools.is_empty()),
        "{status:?}"
    );
    servers.close().await;
}

#[tokio::test]
async fn nobody_is_followed_to_another_address() {
    // What a server would send us to; whoever connects is counted.
    let elsewhere = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = format!("http://127.0.0.1:{}/mcp", elsewhere.local_addr().unwrap().port());
    let moved = format!("HTTP/1.1 307 Moved\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n");
    let event = format!("event: endpoint\ndata: {target}\n\n");
    let events = format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n{event}");
    let (http, sse) = (always(moved).await, always(events).await);
    let started = Started::new(&json!({
        "moved": {"url": http, "headers": {"Authorization": "Bearer key"}},
        "led": {"url": sse, "type": "sse", "headers": {"Authorization": "Bearer key"}},
    }))
    .await;
    assert!(
        started.failure("led").contains("not its own address"),
        "{}",
        started.failure("led")
    );
    started.failure("moved");
    assert!(elsewhere.accept().now_or_never().is_none(), "it was followed");
}

/// A server that answers each request the same.
async fn always(answer: String) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://127.0.0.1:{}/", listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    url
}

fn tls() -> rustls::ClientConfig {
    rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth()
}
