//! `deft mcp login`: gets a token for a server by way of the user's browser.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use deft_mcp::Login;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::{configured, kept, network};
use crate::exit::Exit;
use crate::output::one_line;
use crate::settings::{Settings, prepare_data_dir};

/// How long a person may take.
const PATIENCE: Duration = Duration::from_secs(300);
/// How long a browser may take to say what it wants.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest request line.
const MAX_REQUEST: u64 = 16 * 1024;
const DONE: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nYou can close this page.\n";
const NOT_HERE: &str = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

pub(super) async fn login(settings: &Settings, name: &str) -> anyhow::Result<Exit> {
    let servers = configured(settings)?;
    let Some(server) = servers.iter().find(|server| server.name == name) else {
        bail!("no MCP server is called {name:?}; `deft mcp list` shows them all");
    };
    prepare_data_dir(&settings.data_dir.value)?;
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .context("cannot wait for the browser")?;
    let here = format!("http://127.0.0.1:{}", listener.local_addr()?.port());
    let tokens = Arc::new(kept::Tokens::of(&settings.data_dir.value));
    let login = Login::begin(server, &format!("{here}/callback"), &network(settings), tokens).await?;
    let mut out = anstream::AutoStream::auto(std::io::stdout());
    writeln!(
        out,
        "Open this page in your browser to log in to {}:\n{}",
        one_line(name),
        plain(login.url())
    )?;
    out.flush()?;
    let callback = timeout(PATIENCE, callback(&listener, &here)).await;
    login
        .finish(&callback.context("nobody logged in in time; try again")??)
        .await?;
    writeln!(out, "You are logged in to {}.", one_line(name))?;
    Ok(Exit::Finished)
}

/// An address comes from the server: only what an address is made of is printed.
fn plain(url: &str) -> String {
    url.chars().filter(char::is_ascii_graphic).collect()
}

/// Waits until the browser is sent back to us, and tells with which address.
async fn callback(listener: &TcpListener, here: &str) -> std::io::Result<String> {
    loop {
        let (stream, _) = listener.accept().await?;
        if let Ok(Ok(Some(path))) = timeout(REQUEST_TIMEOUT, answer(stream)).await {
            return Ok(format!("{here}{path}"));
        }
    }
}

/// Answers a request. The path, if it is the one that we wait for.
async fn answer(mut stream: TcpStream) -> std::io::Result<Option<String>> {
    let mut line = String::new();
    let mut reader = BufReader::new(tokio::io::AsyncReadExt::take(&mut stream, MAX_REQUEST));
    reader.read_line(&mut line).await?;
    // The rest of the request is read too: a browser that is cut off while it writes shows an error.
    let mut header = String::new();
    while reader.read_line(&mut header).await? > 2 {
        header.clear();
    }
    let path = line.strip_prefix("GET ").and_then(|rest| rest.split(' ').next());
    let path = path
        .filter(|path| path.starts_with("/callback?"))
        .map(str::to_owned);
    let answer = if path.is_some() { DONE } else { NOT_HERE };
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await?;
    Ok(path)
}
