//! How people sign in: the table `[oidc]` of the user's `deft.toml`.

use std::collections::BTreeMap;
use std::time::Duration;

use deft_types::Secret;
use reqwest::Url;
use serde::Deserialize;

use crate::accounts::Role;

/// How long somebody stays signed in, where nobody says.
const HOURS: u64 = 12;
const MAX_HOURS: u64 = 24 * 30;

/// Who signs people in, and whom we let in.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Written")]
pub struct SignInSettings {
    pub(crate) issuer: String,
    pub(crate) client_id: String,
    pub(crate) client_secret: Option<Secret<String>>,
    /// The variable that holds it, where it does not stand here.
    client_secret_env: Option<String>,
    pub(crate) redirect_url: Option<Url>,
    pub(crate) scopes: Vec<String>,
    /// Only people with a verified address there.
    pub(crate) allowed_domains: Vec<String>,
    /// The claim that names their groups.
    pub(crate) groups_claim: String,
    /// What the members of a group may do.
    pub(crate) roles: BTreeMap<String, Role>,
    /// What those may do who are in none of these groups. None: nothing.
    pub(crate) default_role: Option<Role>,
    /// Whether who comes for the first time gets an account.
    pub(crate) create_users: bool,
    pub(crate) session: Duration,
}

/// Why nobody can sign in.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// The secret is not where it should be.
    #[error(
        "the variable {0} is not set; it should hold the client secret for signing in (`[oidc]` in deft.toml)"
    )]
    NoSecret(String),
}

impl SignInSettings {
    /// With the secret from the variable that names it.
    pub fn with_secret(mut self, variable: impl Fn(&str) -> Option<String>) -> Result<Self, SignInError> {
        if let Some(name) = &self.client_secret_env {
            let secret = variable(name).filter(|secret| !secret.is_empty());
            self.client_secret = Some(Secret::new(
                secret.ok_or_else(|| SignInError::NoSecret(name.clone()))?,
            ));
        }
        Ok(self)
    }
}

/// As it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    issuer: String,
    client_id: String,
    client_secret: Option<Secret<String>>,
    client_secret_env: Option<String>,
    redirect_url: Option<String>,
    #[serde(default = "usual_scopes")]
    scopes: Vec<String>,
    #[serde(default)]
    allowed_domains: Vec<String>,
    #[serde(default = "usual_groups_claim")]
    groups_claim: String,
    #[serde(default)]
    roles: BTreeMap<String, Role>,
    default_role: Option<Role>,
    #[serde(default)]
    create_users: bool,
    #[serde(default = "usual_hours")]
    session_hours: u64,
}

fn usual_scopes() -> Vec<String> {
    ["openid", "email", "profile"].map(str::to_owned).to_vec()
}

fn usual_groups_claim() -> String {
    "groups".to_owned()
}

fn usual_hours() -> u64 {
    HOURS
}

impl TryFrom<Written> for SignInSettings {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let issuer = Url::parse(&written.issuer).map_err(|error| format!("issuer: {error}"))?;
        if !is_private(&issuer) {
            return Err("issuer must begin with https://".to_owned());
        }
        let redirect_url = match &written.redirect_url {
            Some(url) => Some(Url::parse(url).map_err(|error| format!("redirect_url: {error}"))?),
            None => None,
        };
        if redirect_url
            .as_ref()
            .is_some_and(|url| url.path() != super::CALLBACK)
        {
            return Err(format!("redirect_url must end with {}", super::CALLBACK));
        }
        if !written.scopes.iter().any(|scope| scope == "openid") {
            return Err("scopes must have openid".to_owned());
        }
        if written.create_users && written.roles.is_empty() && written.default_role.is_none() {
            return Err(
                "create_users needs roles or a default_role: what may somebody do who is new?".to_owned(),
            );
        }
        if !(1..=MAX_HOURS).contains(&written.session_hours) {
            return Err(format!("session_hours must be 1 to {MAX_HOURS}"));
        }
        let domains = written.allowed_domains.iter();
        Ok(Self {
            issuer: written.issuer,
            client_id: written.client_id,
            client_secret: written.client_secret,
            client_secret_env: written.client_secret_env,
            redirect_url,
            scopes: written.scopes,
            allowed_domains: domains.map(|domain| domain.to_ascii_lowercase()).collect(),
            groups_claim: written.groups_claim,
            roles: written.roles,
            default_role: written.default_role,
            create_users: written.create_users,
            session: Duration::from_secs(written.session_hours * 3600),
        })
    }
}

/// Whether nobody on the way can read along: an encrypted address, or one of this machine.
pub(super) fn is_private(url: &Url) -> bool {
    let is_here = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    url.scheme() == "https" || url.scheme() == "http" && is_here
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(more: &Value) -> Result<SignInSettings, String> {
        let mut written = json!({"issuer": "https://id.example.org", "client_id": "deft"});
        let more = more.as_object().unwrap().clone();
        written.as_object_mut().unwrap().extend(more);
        SignInSettings::deserialize(written).map_err(|error| error.to_string())
    }

    #[test]
    fn what_would_let_in_too_many_or_nobody_is_refused() {
        assert_eq!(read(&json!({})).unwrap().session, Duration::from_secs(12 * 3600));
        assert!(read(&json!({"create_users": true, "default_role": "viewer"})).is_ok());
        assert!(read(&json!({"issuer": "http://127.0.0.1:9"})).is_ok());
        for (wrong, said) in [
            (json!({"issuer": "http://id.example.org"}), "https"),
            (json!({"create_users": true}), "default_role"),
            (json!({"scopes": ["email"]}), "openid"),
            (
                json!({"redirect_url": "https://deft.example.org/"}),
                "redirect_url",
            ),
            (json!({"session_hours": 0}), "session_hours"),
            (json!({"nonsense": 1}), "nonsense"),
            (json!({"roles": {"a": "root"}}), "root"),
        ] {
            let refused = read(&wrong).unwrap_err();
            assert!(refused.contains(said), "{wrong}: {refused}");
        }
    }

    #[test]
    fn a_secret_comes_from_the_variable_that_is_named() {
        let settings = || read(&json!({"client_secret_env": "SECRET"})).unwrap();
        let with = settings().with_secret(|name| (name == "SECRET").then(|| "s-1".to_owned()));
        assert_eq!(with.unwrap().client_secret.unwrap().expose(), "s-1");
        assert!(settings().with_secret(|_| None).is_err());
    }
}
