//! Whose we are at a forge. The token goes in and is never shown again.

use std::path::Path;
use std::sync::Weak;
use std::time::Duration;

use axum::http::StatusCode;
use deft_net::{Guard, admits};
use deft_types::{Secret, is_public};
use reqwest::{Client, Url};
use serde_json::{Value, json};

use super::Forge;
use crate::app::App;
use crate::failure::Failure;

const FOLDER: &str = "git-accounts/";
/// How long a forge may take to answer.
const TIME_LIMIT: Duration = Duration::from_secs(30);
const NOT_PUBLIC: &str =
    "This forge is not on the public internet: ask the owner of the server to add an account there too";

/// See the module.
pub(crate) struct Account {
    pub(crate) forge: Forge,
    /// Where it is, such as `https://github.com`.
    pub(crate) address: Url,
    pub(crate) token: Secret<String>,
}

impl Account {
    /// Reads where a forge is. People may leave the scheme out.
    pub(crate) fn address(text: &str) -> Result<Url, Failure> {
        let text = text.trim().trim_end_matches('/');
        let whole = if text.contains("://") {
            text.to_owned()
        } else {
            format!("https://{text}")
        };
        let plain = |url: &Url| {
            matches!(url.scheme(), "https" | "http")
                && url.host_str().is_some()
                && url.username().is_empty()
                && url.password().is_none()
                && url.query().is_none()
                && url.path() == "/"
        };
        let url = Url::parse(&whole).ok().filter(plain);
        url.ok_or_else(|| {
            Failure::refused("The address must be a host, such as github.com, and nothing else")
        })
    }

    /// The host, and its port where that is not the usual one.
    pub(crate) fn host(&self) -> String {
        host(&self.address)
    }

    /// Where git finds a repository. The token is not in it.
    pub(crate) fn repository(&self, name: &str) -> String {
        format!("{}{name}.git", self.address)
    }

    pub(crate) async fn save(&self, app: &App) -> Result<(), Failure> {
        let kept =
            json!({"kind": self.forge, "address": self.address.as_str(), "token": self.token.expose()});
        app.documents
            .put(&format!("{FOLDER}{}", self.host()), &kept)
            .await
    }

    pub(crate) async fn find(app: &App, host: &str) -> Result<Option<Self>, Failure> {
        let kept = app.documents.get(&format!("{FOLDER}{host}")).await?;
        Ok(kept.as_ref().and_then(Self::read))
    }

    pub(crate) async fn list(app: &App) -> Result<Vec<Self>, Failure> {
        let kept = app.documents.list(FOLDER).await?;
        Ok(kept.iter().filter_map(|(_, kept)| Self::read(kept)).collect())
    }

    /// Whether there was one.
    pub(crate) async fn remove(app: &App, host: &str) -> Result<bool, Failure> {
        Ok(app.documents.take(&format!("{FOLDER}{host}")).await?.is_some())
    }

    /// Whether whoever owns the server has an account at the same address.
    pub(super) async fn is_known_to_owner(&self, app: &App) -> Result<bool, Failure> {
        let Some(owner) = app.users.owner.get().and_then(Weak::upgrade) else {
            return Ok(false);
        };
        let theirs = Self::find(&owner, &self.host()).await?;
        Ok(theirs.is_some_and(|theirs| theirs.address == self.address))
    }

    /// A client for its questions, which goes to public addresses alone unless it is trusted.
    pub(super) fn client(&self, ca_file: Option<&Path>, is_trusted: bool) -> Result<Client, Failure> {
        let api = self.forge.api(&self.address);
        let url = Url::parse(&api).map_err(|error| Failure::refused(error.to_string()))?;
        let impossible = |error| Failure::internal("no connection to the forge can be made", &error);
        let mut builder = deft_net::builder(ca_file, &url)
            .map_err(impossible)?
            .timeout(TIME_LIMIT);
        if !is_trusted {
            if !admits(&url, is_public) {
                return Err(not_public());
            }
            // No proxy: one could reach what we must not.
            builder = builder.no_proxy().dns_resolver(Guard { allows: is_public });
        }
        builder.build().map_err(|error| impossible(error.into()))
    }

    fn read(kept: &Value) -> Option<Self> {
        Some(Self {
            forge: serde_json::from_value(kept["kind"].clone()).ok()?,
            address: Url::parse(kept["address"].as_str()?).ok()?,
            token: Secret::new(kept["token"].as_str()?.to_owned()),
        })
    }
}

pub(super) fn not_public() -> Failure {
    Failure::new(StatusCode::FORBIDDEN, NOT_PUBLIC)
}

pub(super) fn host(url: &Url) -> String {
    let name = url.host_str().unwrap_or_default();
    url.port()
        .map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_nothing_else() {
        let host = |text: &str| Account::address(text).map(|url| host(&url)).ok();
        assert_eq!(host("github.com").as_deref(), Some("github.com"));
        assert_eq!(
            host(" https://git.example:8443/ ").as_deref(),
            Some("git.example:8443")
        );
        assert_eq!(host("http://127.0.0.1:3000").as_deref(), Some("127.0.0.1:3000"));
        for bad in [
            "",
            "ftp://x",
            "https://u:p@host",
            "https://host/path",
            "https://host?x=1",
        ] {
            assert_eq!(host(bad), None, "{bad}");
        }
    }
}
