//! The file in which people name their clusters.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use deft_types::Secret;
use reqwest::Proxy;
use serde::Deserialize;

use crate::error::K8sError;

/// The kinds of proxies that a cluster may be behind.
const PROXY_SCHEMES: [&str; 4] = ["http", "https", "socks5", "socks5h"];

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct File {
    current_context: Option<String>,
    #[serde(default)]
    contexts: Vec<NamedContext>,
    #[serde(default)]
    clusters: Vec<NamedCluster>,
    #[serde(default)]
    users: Vec<NamedUser>,
}

#[derive(Deserialize)]
struct NamedContext {
    name: String,
    context: Context,
}

#[derive(Deserialize)]
struct Context {
    cluster: String,
    user: String,
    namespace: Option<String>,
}

#[derive(Deserialize)]
struct NamedCluster {
    name: String,
    cluster: ClusterEntry,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct ClusterEntry {
    server: String,
    certificate_authority: Option<PathBuf>,
    certificate_authority_data: Option<String>,
    #[serde(default)]
    insecure_skip_tls_verify: bool,
    proxy_url: Option<Secret<String>>,
}

#[derive(Deserialize)]
struct NamedUser {
    name: String,
    #[serde(default)]
    user: UserEntry,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct UserEntry {
    token: Option<Secret<String>>,
    #[serde(alias = "tokenFile")]
    token_file: Option<PathBuf>,
    client_certificate: Option<PathBuf>,
    client_certificate_data: Option<String>,
    client_key: Option<PathBuf>,
    client_key_data: Option<Secret<String>>,
    exec: Option<Plugin>,
}

/// A program that logs us in.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Plugin {
    pub(crate) api_version: Option<String>,
    pub(crate) command: String,
    #[serde(default)]
    pub(crate) args: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) env: Option<Vec<Variable>>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// What the API asks of us to know who we are.
#[derive(Clone, Debug)]
pub(crate) enum Login {
    Nothing,
    Token(Secret<String>),
    /// A file whose token is renewed by somebody.
    File(PathBuf),
    Plugin(Plugin),
}

/// One cluster and who we are there.
pub(crate) struct Access {
    pub(crate) server: url::Url,
    /// What leads there, if the server is not reached as others are. It may name a password.
    pub(crate) proxy: Option<Proxy>,
    pub(crate) namespace: Option<String>,
    /// In PEM form, as is what follows.
    pub(crate) authority: Option<Vec<u8>>,
    pub(crate) client: Option<(Vec<u8>, Secret<Vec<u8>>)>,
    pub(crate) login: Login,
}

impl Access {
    /// Reads the cluster of a context, or of the current one.
    pub(crate) fn read(path: &Path, context: Option<&str>) -> Result<Self, K8sError> {
        Self::parse(path, context).map_err(|reason| K8sError::Config {
            path: path.to_owned(),
            reason,
        })
    }

    fn parse(path: &Path, context: Option<&str>) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        // The parser's own words may quote a line, and there are keys in it.
        let file: File = serde_saphyr::from_str(&text).map_err(|_| "it is not the form of a kubeconfig")?;
        let name = context.or(file.current_context.as_deref());
        let name = name
            .filter(|name| !name.is_empty())
            .ok_or("it has no current context")?;
        let no = |what: &str, name: &str| format!("it has no {what} '{name}'");
        let found = file.contexts.into_iter().find(|context| context.name == name);
        let context = found.ok_or_else(|| no("context", name))?.context;
        let found = file
            .clusters
            .into_iter()
            .find(|cluster| cluster.name == context.cluster);
        let cluster = found.ok_or_else(|| no("cluster", &context.cluster))?.cluster;
        let found = file.users.into_iter().find(|user| user.name == context.user);
        let user = found.ok_or_else(|| no("user", &context.user))?.user;
        if cluster.insecure_skip_tls_verify {
            return Err("it wants a server whose certificate nobody checks, which is not done".to_owned());
        }
        let proxy = cluster.proxy_url.as_ref().map(|proxy| proxy.expose().as_str());
        let proxy = proxy.filter(|proxy| !proxy.is_empty()).map(|proxy| {
            let address = proxy.parse::<url::Url>().ok();
            let address = address.filter(|address| PROXY_SCHEMES.contains(&address.scheme()));
            address.and_then(|address| Proxy::all(address).ok())
        });
        if matches!(proxy, Some(None)) {
            let known = PROXY_SCHEMES.join(", ");
            return Err(format!("its `proxy-url` is not the address of a proxy ({known})"));
        }
        let base = path.parent().unwrap_or(Path::new("."));
        let pem = |data: Option<&str>, file: Option<&PathBuf>| match (data, file) {
            (Some(data), _) => BASE64_STANDARD
                .decode(data.trim())
                .map(Some)
                .map_err(|error| format!("a certificate or key cannot be read: {error}")),
            (None, Some(file)) => std::fs::read(base.join(file))
                .map(Some)
                .map_err(|error| format!("{}: {error}", base.join(file).display())),
            (None, None) => Ok(None),
        };
        let certificate = pem(
            user.client_certificate_data.as_deref(),
            user.client_certificate.as_ref(),
        )?;
        let key_data = user.client_key_data.as_ref().map(|key| key.expose().as_str());
        let key = pem(key_data, user.client_key.as_ref())?;
        let login = match (user.token, user.token_file, user.exec) {
            (Some(token), ..) => Login::Token(token),
            (None, Some(file), _) => Login::File(base.join(file)),
            (None, None, Some(plugin)) => Login::Plugin(plugin),
            (None, None, None) => Login::Nothing,
        };
        Ok(Self {
            server: cluster
                .server
                .parse()
                .map_err(|_| "the address of its server is none")?,
            proxy: proxy.flatten(),
            namespace: context.namespace,
            authority: pem(
                cluster.certificate_authority_data.as_deref(),
                cluster.certificate_authority.as_ref(),
            )?,
            client: certificate.zip(key.map(Secret::new)),
            login,
        })
    }

    /// The cluster in whose pod we run, if we do.
    pub(crate) fn of_our_pod(host: &str, port: &str) -> Result<Self, K8sError> {
        let place = Path::new("/var/run/secrets/kubernetes.io/serviceaccount");
        let unusable = |reason: String| K8sError::Config {
            path: place.to_owned(),
            reason,
        };
        let host = if host.contains(':') {
            format!("[{host}]")
        } else {
            host.to_owned()
        };
        let server = format!("https://{host}:{port}").parse();
        let authority = std::fs::read(place.join("ca.crt")).map_err(|error| unusable(error.to_string()))?;
        Ok(Self {
            server: server.map_err(|error: url::ParseError| unusable(error.to_string()))?,
            proxy: None,
            namespace: std::fs::read_to_string(place.join("namespace")).ok(),
            authority: Some(authority),
            client: None,
            login: Login::File(place.join("token")),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const FILE: &str = "
apiVersion: v1
kind: Config
current-context: work
contexts:
- {name: work, context: {cluster: c, user: u, namespace: team}}
- {name: home, context: {cluster: c, user: login}}
- {name: open, context: {cluster: unchecked, user: u}}
- {name: behind, context: {cluster: proxied, user: u}}
- {name: lost, context: {cluster: lost, user: u}}
clusters:
- {name: c, cluster: {server: 'https://10.0.0.1:6443', certificate-authority: ca.crt}}
- {name: unchecked, cluster: {server: 'https://10.0.0.1:6443', insecure-skip-tls-verify: true}}
- {name: proxied, cluster: {server: 'https://10.0.0.1:6443', proxy-url: 'socks5://127.0.0.1:1080'}}
- {name: lost, cluster: {server: 'https://10.0.0.1:6443', proxy-url: 'ftp://u:hunter2@127.0.0.1'}}
users:
- {name: u, user: {token: t-secret}}
- name: login
  user:
    exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, args: [eks, get-token], env: null}
";

    fn write() -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("config");
        std::fs::write(&path, FILE).unwrap();
        std::fs::write(place.path().join("ca.crt"), "PEM").unwrap();
        (place, path)
    }

    #[test]
    fn the_current_context_counts_unless_another_is_named() {
        let (_place, path) = write();
        let access = Access::read(&path, None).unwrap();
        assert_eq!(access.namespace.as_deref(), Some("team"));
        assert_eq!(
            access.authority.as_deref(),
            Some(&b"PEM"[..]),
            "relative to the file"
        );
        assert!(matches!(access.login, Login::Token(token) if token.expose() == "t-secret"));
        let access = Access::read(&path, Some("home")).unwrap();
        assert!(matches!(access.login, Login::Plugin(plugin) if plugin.command == "aws"));
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let (_place, path) = write();
        assert!(Access::read(&path, Some("behind")).unwrap().proxy.is_some());
        for (context, words) in [
            ("none", "no context 'none'"),
            ("open", "nobody checks"),
            ("lost", "`proxy-url` is not the address of a proxy"),
        ] {
            let error = Access::read(&path, Some(context)).err().unwrap().to_string();
            assert!(
                error.contains(words) && error.contains("kubectl config view"),
                "{error}"
            );
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
