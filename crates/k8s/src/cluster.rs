//! A cluster, and who we are there.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deft_types::Secret;
use reqwest::Client;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::process::Command;
use url::Url;

use crate::error::K8sError;
use crate::kubeconfig::{Access, Login, Plugin};

/// How long a program that logs us in may take.
const LOGIN_LIMIT: Duration = Duration::from_secs(60);

/// A cluster, and who we are there.
#[derive(Clone)]
pub struct Cluster {
    pub(crate) client: Client,
    pub(crate) server: Url,
    pub(crate) namespace: String,
    login: Login,
    /// What a program that logs us in gave us last.
    token: Arc<Mutex<Option<Secret<String>>>>,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cluster({}, {})", self.server, self.namespace)
    }
}

impl Cluster {
    /// The cluster that the first file of `KUBECONFIG` names, else `~/.kube/config`, else the one in whose pod we run.
    /// `variable` reads our environment; a context of the file can be chosen.
    pub fn find(variable: impl Fn(&str) -> Option<String>, context: Option<&str>) -> Result<Self, K8sError> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let listed = set("KUBECONFIG").map(|list| std::env::split_paths(&list).collect::<Vec<PathBuf>>());
        if let Some(path) = listed.and_then(|list| list.into_iter().next()) {
            return Self::from_file(&path, context);
        }
        let usual = set("HOME").map(|home| Path::new(&home).join(".kube/config"));
        if let Some(path) = usual.filter(|path| path.exists()) {
            return Self::from_file(&path, context);
        }
        match (set("KUBERNETES_SERVICE_HOST"), set("KUBERNETES_SERVICE_PORT")) {
            (Some(host), Some(port)) => Self::new(Access::of_our_pod(&host, &port)?),
            _ => Err(K8sError::NoCluster),
        }
    }

    /// The cluster of a kubeconfig's context, or of its current one.
    pub fn from_file(path: &Path, context: Option<&str>) -> Result<Self, K8sError> {
        let unusable = |reason: &dyn fmt::Display| K8sError::Config {
            path: path.to_owned(),
            reason: reason.to_string(),
        };
        let access = Access::read(path, context)?;
        Self::new(access).map_err(|error| match error {
            K8sError::Broken { reason, .. } => unusable(&reason),
            error => error,
        })
    }

    fn new(access: Access) -> Result<Self, K8sError> {
        let unusable = |reason: &dyn fmt::Display| K8sError::Broken {
            what: "be reached",
            reason: reason.to_string(),
        };
        let mut roots = RootCertStore::empty();
        match &access.authority {
            Some(pem) => {
                for certificate in CertificateDer::pem_slice_iter(pem) {
                    let certificate = certificate.map_err(|error| unusable(&error))?;
                    roots.add(certificate).map_err(|error| unusable(&error))?;
                }
            }
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        }
        let tls = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(&error))?
            .with_root_certificates(roots);
        let mut tls = match &access.client {
            Some((certificates, key)) => {
                let chain = CertificateDer::pem_slice_iter(certificates).collect::<Result<Vec<_>, _>>();
                let key = PrivateKeyDer::from_pem_slice(key.expose());
                let chain = chain.map_err(|error| unusable(&error))?;
                let key = key.map_err(|error| unusable(&error))?;
                tls.with_client_auth_cert(chain, key)
                    .map_err(|error| unusable(&error))?
            }
            None => tls.with_no_client_auth(),
        };
        tls.alpn_protocols = vec![b"http/1.1".to_vec()]; // what sockets need
        let mut client = deft_net::builder_with(tls, &access.server).http1_only();
        if let Some(proxy) = access.proxy {
            client = client.proxy(proxy);
        }
        let client = client.build().map_err(|error| unusable(&error))?;
        Ok(Self {
            client,
            server: access.server,
            namespace: access.namespace.unwrap_or_else(|| "default".to_owned()),
            login: access.login,
            token: Arc::default(),
        })
    }

    /// The same cluster, but another namespace of it.
    #[must_use]
    pub fn in_namespace(self, namespace: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            ..self
        }
    }

    /// The namespace that is used.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The API's address.
    pub fn server(&self) -> &str {
        self.server.as_str()
    }

    /// What says who we are.
    pub(crate) async fn token(&self) -> Result<Option<Secret<String>>, K8sError> {
        match &self.login {
            Login::Nothing => Ok(None),
            Login::Token(token) => Ok(Some(token.clone())),
            Login::File(path) => {
                let read = tokio::task::spawn_blocking({
                    let path = path.clone();
                    move || std::fs::read_to_string(path)
                });
                let read = read.await.map_err(std::io::Error::other).and_then(|read| read);
                let read = read.map_err(|error| K8sError::Config {
                    path: path.clone(),
                    reason: error.to_string(),
                })?;
                Ok(Some(Secret::new(read.trim().to_owned())))
            }
            Login::Plugin(plugin) => {
                let kept = self.token.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if let Some(token) = kept {
                    return Ok(Some(token));
                }
                let token = log_in(plugin).await?;
                *self.token.lock().unwrap_or_else(PoisonError::into_inner) = Some(token.clone());
                Ok(Some(token))
            }
        }
    }

    /// Forgets a token that the API does not know any more. True: there may be another one.
    pub(crate) fn forget_token(&self) -> bool {
        self.token
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
            .is_some()
    }
}

/// Runs the program that logs us in.
async fn log_in(plugin: &Plugin) -> Result<Secret<String>, K8sError> {
    let failed = |reason: String| K8sError::Config {
        path: PathBuf::from(&plugin.command),
        reason,
    };
    let version = plugin.api_version.as_deref();
    let version = version.unwrap_or("client.authentication.k8s.io/v1");
    let info = json!({"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": false}});
    let variables = plugin.env.iter().flatten();
    let run = Command::new(&plugin.command)
        .args(plugin.args.iter().flatten())
        .envs(variables.map(|variable| (&variable.name, &variable.value)))
        .env("KUBERNETES_EXEC_INFO", info.to_string())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(LOGIN_LIMIT, run).await;
    let output = output.map_err(|_| K8sError::Slow("log us in"))?;
    let output = output.map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(failed(complaint.trim().chars().take(500).collect()));
    }
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    match answer["status"]["token"].as_str() {
        Some(token) => Ok(Secret::new(token.to_owned())),
        None => Err(failed("it gave no token".to_owned())),
    }
}
