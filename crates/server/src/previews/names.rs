//! Under which names previews are seen. Each has an origin of its own, which is never the app's.

use std::fmt;

use axum::http::Uri;
use axum::http::uri::Authority;

/// What stands before the label of a preview in the way people write it.
const ANY: &str = "*.";
/// Browsers find these on the machine they run on, whatever stands before the dot.
const LOCAL: &str = "localhost";

/// The names of previews: a label of one's own before a domain that has no other use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviewNames {
    scheme: String,
    domain: String,
    port: Option<u16>,
}

impl PreviewNames {
    /// Those of a browser on this machine.
    pub(crate) fn local(port: u16) -> Self {
        Self {
            scheme: "http".to_owned(),
            domain: LOCAL.to_owned(),
            port: Some(port),
        }
    }

    /// `https://*.preview.example.org`, or `http://*.localhost:8000` where a tunnel leads to us.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || "it must look like https://*.preview.example.org".to_owned();
        let text = text.trim_end_matches('/').to_ascii_lowercase();
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        let rest = rest.strip_prefix(ANY).ok_or_else(wrong)?;
        let uri: Uri = format!("{scheme}://{rest}").parse().map_err(|_| wrong())?;
        if uri.path() != "/" || uri.query().is_some() || rest.contains('@') {
            return Err(wrong());
        }
        let domain = uri.host().ok_or_else(wrong)?.to_owned();
        match scheme {
            "https" => {}
            "http" if domain == LOCAL => {}
            _ => return Err("browsers keep no session there: it must begin with https://".to_owned()),
        }
        Ok(Self {
            scheme: scheme.to_owned(),
            domain,
            port: uri.port_u16(),
        })
    }

    pub(super) fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The origin of a preview.
    pub(super) fn origin(&self, label: &str) -> String {
        self.to_string().replacen('*', label, 1)
    }

    /// The label in the name that somebody called us by.
    pub(super) fn label(&self, host: &str) -> Option<String> {
        let authority: Authority = host.parse().ok()?;
        let name = authority.host().to_ascii_lowercase();
        let label = name.strip_suffix(&self.domain)?.strip_suffix('.')?;
        let is_one = !label.is_empty() && !label.contains('.') && !host.contains('@');
        is_one.then(|| label.to_owned())
    }
}

/// As a browser's policy names them all.
impl fmt::Display for PreviewNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{ANY}{}", self.scheme, self.domain)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_a_label_before_the_domain_and_nothing_else() {
        let local = PreviewNames::local(3001);
        assert_eq!(local.to_string(), "http://*.localhost:3001");
        assert_eq!(local.origin("p1-a"), "http://p1-a.localhost:3001");
        assert_eq!(local.label("P1-a.localhost:9"), Some("p1-a".to_owned()));
        for foreign in [
            "localhost",
            ".localhost",
            "a.b.localhost",
            "a@b.localhost",
            "xlocalhost",
            "127.0.0.1",
            "",
        ] {
            assert_eq!(local.label(foreign), None, "{foreign}");
        }
        let public = PreviewNames::parse("https://*.Preview.example.org/").unwrap();
        assert_eq!(public.origin("x"), "https://x.preview.example.org");
        assert_eq!(public.label("x.preview.example.org"), Some("x".to_owned()));
        assert!(PreviewNames::parse("http://*.localhost:8000").is_ok());
        for wrong in [
            "https://preview.example.org",
            "http://*.preview.example.org",
            "https://*.example.org/path",
            "https://*.u@example.org",
            "nonsense",
        ] {
            assert!(PreviewNames::parse(wrong).is_err(), "{wrong}");
        }
    }
}
