//! Addresses that a model may name.

use std::net::IpAddr;

use reqwest::Url;

/// Why an address cannot be opened. The message goes to the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadAddress {
    #[error("`{0}` is not a web address; write it as https://host/path.")]
    Malformed(String),
    #[error(
        "Addresses that begin with `{0}:` are not opened, only http and https; read files with the other tools."
    )]
    Scheme(String),
}

/// Reads an address as people write it: without a scheme it is https, or http on this machine.
pub(crate) fn parse(text: &str) -> Result<Url, BadAddress> {
    let text = text.trim();
    let malformed = || BadAddress::Malformed(text.chars().take(200).collect());
    let url = if text.contains("://") || !may_begin_with_host(text) {
        Url::parse(text).map_err(|_| malformed())?
    } else {
        let url = Url::parse(&format!("http://{text}")).map_err(|_| malformed())?;
        if is_nearby(&url) {
            url
        } else {
            Url::parse(&format!("https://{text}")).map_err(|_| malformed())?
        }
    };
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        "http" | "https" => Err(malformed()),
        other => Err(BadAddress::Scheme(other.to_owned())),
    }
}

/// `host`, `host/path` or `host:8080`, as against `mailto:somebody`.
fn may_begin_with_host(text: &str) -> bool {
    match text.split_once(':') {
        None => true,
        Some((host, rest)) => {
            host.contains(['.', '/', '[']) || rest.starts_with(|first: char| first.is_ascii_digit())
        }
    }
}

fn is_nearby(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let is_number = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    host == "localhost" || host.ends_with(".localhost") || is_number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        for (text, expected) in [
            ("https://example.com/a", Some("https://example.com/a")),
            ("example.com", Some("https://example.com/")),
            ("example.com/a?b=c:d", Some("https://example.com/a?b=c:d")),
            ("example.com:8443/x", Some("https://example.com:8443/x")),
            ("localhost:3000/app", Some("http://localhost:3000/app")),
            ("127.0.0.1:80", Some("http://127.0.0.1/")),
            ("[::1]:8080", Some("http://[::1]:8080/")),
            (" http://0x7f.1/ ", Some("http://127.0.0.1/")),
            ("file:///etc/passwd", None),
            ("chrome://settings", None),
            ("javascript:alert(1)", None),
            ("view-source:http://x/", None),
            ("data:text/html,x", None),
            ("about:blank", None),
            ("gopher://x/", None),
            ("", None),
            ("http://", None),
        ] {
            assert_eq!(parse(text).ok().as_ref().map(Url::as_str), expected, "{text}");
        }
    }
}
