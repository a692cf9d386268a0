//! The head of a request to a proxy.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};
use url::{Host, Url};

/// The longest head that is read.
const MAX_HEAD: usize = 16 * 1024;
/// Headers between a client and its proxy, which the server must not see, and the host, which we name.
const OURS: [&str; 5] = [
    "proxy-connection",
    "proxy-authorization",
    "connection",
    "keep-alive",
    "host",
];

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) host: Host<String>,
    pub(super) port: u16,
    /// What the server is sent first: nothing through a tunnel, else the request as it wants it.
    pub(super) opening: Vec<u8>,
    pub(super) kind: Kind,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Tunnel,
    Plain,
}

/// Reads a head; nothing if it is none.
pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Request>> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Ok(std::str::from_utf8(&bytes)
                .ok()
                .and_then(|head| parse(head, &rest)));
        }
        if bytes.len() > MAX_HEAD || stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
}

fn parse(head: &str, rest: &[u8]) -> Option<Request> {
    // Servers read one such letter as the end of a line, or nothing at all: what we take for one header could be two.
    if head
        .replace("\r\n", "")
        .contains(|letter: char| letter.is_control() && letter != '\t')
    {
        return None;
    }
    let mut lines = head.trim_end().split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, target, _version) = (first.next()?, first.next()?, first.next()?);
    if method == "CONNECT" {
        // Only to take it apart.
        let url = Url::parse(&format!("https://{target}")).ok()?;
        return Some(Request {
            host: url.host()?.to_owned(),
            port: url.port_or_known_default()?,
            opening: rest.to_vec(),
            kind: Kind::Tunnel,
        });
    }
    let url = Url::parse(target).ok().filter(|url| url.scheme() == "http")?;
    let query = url.query().map_or_else(String::new, |query| format!("?{query}"));
    let host = url.host_str()?;
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    let mut opening = format!(
        "{method} {}{query} HTTP/1.1\r\nHost: {host}{port}\r\nConnection: close\r\n",
        url.path()
    );
    for line in lines {
        let (name, _) = line.split_once(':')?;
        if name.contains([' ', '\t']) {
            return None; // a longer line before it, or a name that we would not know again
        }
        if !OURS.contains(&name.to_lowercase().as_str()) {
            opening.push_str(line);
            opening.push_str("\r\n");
        }
    }
    opening.push_str("\r\n");
    let mut opening = opening.into_bytes();
    opening.extend(rest);
    Some(Request {
        host: url.host()?.to_owned(),
        port: url.port_or_known_default()?,
        opening,
        kind: Kind::Plain,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tunnel_names_its_host_in_any_disguise() {
        for (target, host, port) in [
            ("example.com:443", "example.com", 443),
            ("EXAMPLE.com:8443", "example.com", 8443),
            ("0x7f.1:80", "127.0.0.1", 80),
            ("[::1]:443", "[::1]", 443),
        ] {
            let request = parse(&format!("CONNECT {target} HTTP/1.1\r\nHost: x\r\n\r\n"), b"").unwrap();
            assert_eq!((request.host.to_string().as_str(), request.port), (host, port));
        }
    }

    #[test]
    fn a_plain_request_is_passed_on_as_servers_want_it() {
        let head = "GET http://example.com/a?b=c HTTP/1.1\r\nHost: evil.example\r\nProxy-Authorization: x\r\nAccept: */*\r\n\r\n";
        let request = parse(head, b"body").unwrap();
        let expected =
            "GET /a?b=c HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\nAccept: */*\r\n\r\nbody";
        assert_eq!(String::from_utf8(request.opening).unwrap(), expected);
    }

    #[test]
    fn anything_else_is_no_request() {
        for head in [
            "GET / HTTP/1.1",
            "GET ftp://x/ HTTP/1.1",
            "CONNECT",
            "",
            "CONNECT :443 HTTP/1.1",
            "GET http://x/ HTTP/1.1\r\nA: b\nHost: evil.example\r\n\r\n",
            "GET http://x/ HTTP/1.1\r\nA: b\rHost: evil.example\r\n\r\n",
            "GET http://x/ HTTP/1.1\r\nHost : evil.example\r\n\r\n",
            "GET http://x/ HTTP/1.1\r\nA: b\r\n Host: evil.example\r\n\r\n",
            "G\nHost:evil.example\n http://x/ HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(parse(head, b""), None, "{head}");
        }
    }
}
