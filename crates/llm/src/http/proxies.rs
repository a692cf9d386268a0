//! The proxies between this machine and the servers.

use deft_types::Secret;
use reqwest::{NoProxy, Proxy};

/// Reached directly whatever the settings say: a model on this machine is not behind anybody's proxy.
const THIS_MACHINE: &str = "localhost,127.0.0.0/8,::1";

/// The proxies between this machine and the servers. Their addresses may hold a password.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    /// For `http://` addresses.
    pub http: Option<Secret<String>>,
    /// For `https://` addresses.
    pub https: Option<Secret<String>>,
    /// Hosts, domains and networks to reach directly, separated by commas; `*` for all.
    pub no_proxy: Option<String>,
}

impl Proxies {
    /// The usual variables of an environment, lower case before upper case.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let read = |name: &str| {
            let value = variable(&name.to_lowercase()).or_else(|| variable(name));
            value.filter(|value| !value.trim().is_empty())
        };
        let all = || read("ALL_PROXY");
        Self {
            http: read("HTTP_PROXY").or_else(all).map(Secret::new),
            https: read("HTTPS_PROXY").or_else(all).map(Secret::new),
            no_proxy: read("NO_PROXY"),
        }
    }

    /// As the client takes them.
    pub(super) fn rules(&self) -> Result<Vec<Proxy>, BadProxy> {
        let direct = match &self.no_proxy {
            Some(hosts) => format!("{THIS_MACHINE},{hosts}"),
            None => THIS_MACHINE.to_owned(),
        };
        let rule = |address: &Option<Secret<String>>, name, make: fn(&str) -> reqwest::Result<Proxy>| {
            let proxy = address.as_ref().map(|address| make(address.expose().trim()));
            proxy.transpose().map_err(|_| BadProxy(name))
        };
        let rules = [
            rule(&self.http, "HTTP_PROXY", |address| Proxy::http(address))?,
            rule(&self.https, "HTTPS_PROXY", |address| Proxy::https(address))?,
        ];
        let rules = rules.into_iter().flatten();
        Ok(rules
            .map(|rule| rule.no_proxy(NoProxy::from_string(&direct)))
            .collect())
    }
}

/// A proxy's address that cannot be used. It is not shown, for the sake of a password in it.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` must be an address such as `http://proxy.example:3128`")]
pub(crate) struct BadProxy(&'static str);

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(variables: &[(&str, &str)], expected: [Option<&str>; 3]) {
        let proxies = Proxies::from_variables(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        });
        let shown =
            |address: &Option<Secret<String>>| address.as_ref().map(|address| address.expose().clone());
        let found = [shown(&proxies.http), shown(&proxies.https), proxies.no_proxy];
        assert_eq!(found.each_ref().map(Option::as_deref), expected, "{variables:?}");
    }

    #[test]
    fn the_usual_variables_are_understood() {
        check(&[], [None, None, None]);
        check(
            &[
                ("HTTP_PROXY", "http://a"),
                ("https_proxy", "http://b"),
                ("NO_PROXY", "x"),
            ],
            [Some("http://a"), Some("http://b"), Some("x")],
        );
        check(
            &[("http_proxy", "low"), ("HTTP_PROXY", "up")],
            [Some("low"), None, None],
        );
        check(
            &[("ALL_PROXY", "all"), ("HTTPS_PROXY", "b")],
            [Some("all"), Some("b"), None],
        );
        check(&[("HTTPS_PROXY", " ")], [None, None, None]);
    }

    #[test]
    fn a_bad_address_is_named_by_its_variable_and_not_shown() {
        let proxies = Proxies {
            https: Some(Secret::new("http://user:hunter2@[".to_owned())),
            ..Proxies::default()
        };
        let message = proxies.rules().unwrap_err().to_string();
        assert!(
            message.contains("HTTPS_PROXY") && !message.contains("hunter2"),
            "{message}"
        );
    }
}
