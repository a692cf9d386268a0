//! Where a repository comes from, as its configuration says. That is data: it only chooses among the user's accounts.

use reqwest::Url;

use super::account::host;

/// A repository at a forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remote {
    /// The host, and its port where that is not the usual one.
    pub(crate) host: String,
    /// Such as `owner/name`.
    pub(crate) repository: String,
}

impl Remote {
    /// Reads an address in one of the forms that git knows.
    pub(crate) fn parse(address: &str) -> Option<Self> {
        let address = address.trim();
        let (host, path) = match Url::parse(address) {
            Ok(url) if matches!(url.scheme(), "https" | "http") => (host(&url), url.path().to_owned()),
            Ok(url) if url.scheme() == "ssh" => (url.host_str()?.to_owned(), url.path().to_owned()),
            _ if address.contains("://") => return None,
            _ => {
                let (place, path) = address.split_once(':')?; // git@host:owner/name.git
                let host = place.rsplit_once('@').map_or(place, |(_, host)| host);
                (host.to_owned(), path.to_owned())
            }
        };
        let path = path.trim_matches('/');
        let repository = path.strip_suffix(".git").unwrap_or(path);
        let is_plain = |part: &str| {
            !part.is_empty()
                && !part.starts_with('.')
                && !part.starts_with('-')
                && part
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "._-~".contains(c))
        };
        let is_host = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
        let is_good = !host.is_empty()
            && host.chars().all(is_host)
            && repository.contains('/')
            && repository.split('/').all(is_plain);
        is_good.then(|| Self {
            host,
            repository: repository.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_address_is_known_and_nothing_else() {
        let read =
            |text: &str| Remote::parse(text).map(|remote| format!("{} {}", remote.host, remote.repository));
        for (address, known) in [
            ("https://github.com/a/b.git", "github.com a/b"),
            ("https://user:token@github.com/a/b", "github.com a/b"),
            ("git@github.com:a/b.git", "github.com a/b"),
            (
                "ssh://git@git.example:2222/group/sub/b.git",
                "git.example group/sub/b",
            ),
            ("http://127.0.0.1:3000/a/b.git", "127.0.0.1:3000 a/b"),
        ] {
            assert_eq!(read(address).as_deref(), Some(known), "{address}");
        }
        for other in [
            "/srv/repo.git",
            "file:///srv/a/b",
            "ext::sh -c x/y",
            "https://h/../b",
            "https://h/-a/b",
            "https://h/a",
            "",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
