//! Tokens for servers that want one: authorization code with PKCE, registration and refresh by the SDK.

use std::sync::Arc;

use async_trait::async_trait;
use deft_types::Secret;
use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::Client;
use rmcp::transport::auth::{
    AuthClient, AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession, CredentialStore,
    OAuthClientConfig, OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest, StoredCredentials,
};

use crate::ServerConfig;
use crate::config::{Endpoint, OAuth, Remote};
use crate::http::{Network, client};
use deft_net::root_cause;

/// The largest answer of an authorization server.
const MAX_ANSWER: usize = 1024 * 1024;

/// Where tokens are kept between runs. They belong to an address: a server that moves gets none of them.
pub trait TokenStore: Send + Sync {
    /// What was kept for this address.
    fn load<'a>(&'a self, url: &'a str) -> BoxFuture<'a, std::io::Result<Option<Secret<String>>>>;

    /// Keeps this for the address; `None` forgets what was kept.
    fn save<'a>(&'a self, url: &'a str, tokens: Option<Secret<String>>)
    -> BoxFuture<'a, std::io::Result<()>>;
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum OAuthError {
    /// The server is a program, which has no address to ask at.
    #[error("the MCP server {0:?} is a program: only servers with a `url` can be logged in to")]
    NotRemote(String),
    /// It did not work out. Begin again.
    #[error("the MCP server {server:?} gave no token: {reason}")]
    Failed {
        /// The server.
        server: String,
        /// What was said.
        reason: String,
    },
}

/// A login that waits for a person: show them [`Login::url`], then pass the address they were sent back to to
/// [`Login::finish`].
pub struct Login {
    server: String,
    session: AuthorizationSession,
}

impl Login {
    /// Finds out where to log in and registers there if need be. `redirect` is where the person is sent back to.
    pub async fn begin(
        config: &ServerConfig,
        redirect: &str,
        network: &Network,
        tokens: Arc<dyn TokenStore>,
    ) -> Result<Self, OAuthError> {
        let (Endpoint::Http(remote) | Endpoint::Sse(remote)) = &config.endpoint else {
            return Err(OAuthError::NotRemote(config.name.clone()));
        };
        let failed = |reason: String| OAuthError::Failed {
            server: config.name.clone(),
            reason,
        };
        let oauth = remote.oauth.clone().unwrap_or_default();
        let client = client(network, &remote.url).map_err(failed)?;
        let mut manager = manager(remote, client, tokens).await.map_err(failed)?;
        let found = manager
            .resolve_metadata()
            .await
            .map_err(|error| failed(error.to_string()))?;
        manager.set_metadata(found.metadata);
        let mut request = AuthorizationRequest::new(redirect)
            .with_scopes(oauth.scopes)
            .with_client_name(oauth.client_name.as_deref().unwrap_or("Deft"));
        if let Some(id) = oauth.client_id {
            request = request.with_preregistered_client(id);
        }
        if let Some(secret) = oauth.client_secret {
            request = request.with_client_secret(secret.expose());
        }
        let session = AuthorizationSession::new(manager, request).await;
        Ok(Self {
            server: config.name.clone(),
            session: session.map_err(|(_, error)| failed(error.to_string()))?,
        })
    }

    /// Where the person agrees.
    pub fn url(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// Turns what the person was sent back with into tokens, which are kept in the store.
    pub async fn finish(self, callback: &str) -> Result<(), OAuthError> {
        let done = self.session.handle_callback_url(callback).await;
        done.map(drop).map_err(|error| OAuthError::Failed {
            server: self.server,
            reason: error.to_string(),
        })
    }
}

/// A client that sends the kept token along and refreshes it.
pub(crate) async fn authorized(
    remote: &Remote,
    oauth: &OAuth,
    client: Client,
    tokens: Arc<dyn TokenStore>,
) -> Result<AuthClient<Client>, String> {
    let mut manager = manager(remote, client.clone(), tokens).await?;
    let known = manager
        .initialize_from_store()
        .await
        .map_err(|error| error.to_string())?;
    if let (true, Some(id), Some(secret)) = (known, &oauth.client_id, &oauth.client_secret) {
        let config = OAuthClientConfig::new(id, remote.url.as_str()).with_client_secret(secret.expose());
        manager
            .configure_client(config)
            .map_err(|error| error.to_string())?;
    }
    Ok(AuthClient::new(client, manager))
}

async fn manager(
    remote: &Remote,
    client: Client,
    tokens: Arc<dyn TokenStore>,
) -> Result<AuthorizationManager, String> {
    let url = remote.url.as_str();
    let manager = AuthorizationManager::new_with_oauth_http_client(url, Arc::new(Asking(client))).await;
    let mut manager = manager.map_err(|error| error.to_string())?;
    manager.set_credential_store(Kept {
        url: url.to_owned(),
        tokens,
    });
    Ok(manager)
}

/// Our client, which follows no redirect whatever is asked of it.
struct Asking(Client);

impl OAuthHttpClient for Asking {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let timeout = request.timeout;
            let mut request = reqwest::Request::try_from(request.request)?;
            *request.timeout_mut() = timeout;
            let response = self
                .0
                .execute(request)
                .await
                .map_err(|error| root_cause(&error))?;
            let mut answer = http::Response::builder().status(response.status());
            for (name, value) in response.headers() {
                answer = answer.header(name, value);
            }
            let body = deft_net::body(response, MAX_ANSWER).await?;
            Ok(answer.body(body.ok_or("the answer is too long")?)?)
        })
    }
}

/// The tokens of one address.
struct Kept {
    url: String,
    tokens: Arc<dyn TokenStore>,
}

fn unkept(error: impl std::fmt::Display) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

#[async_trait]
impl CredentialStore for Kept {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let kept = self.tokens.load(&self.url).await.map_err(unkept)?;
        let read = kept.map(|kept| serde_json::from_str(kept.expose()));
        read.transpose().map_err(unkept)
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let text = serde_json::to_string(&credentials).map_err(unkept)?;
        self.tokens
            .save(&self.url, Some(Secret::new(text)))
            .await
            .map_err(unkept)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.tokens.save(&self.url, None).await.map_err(unkept)
    }
}

/// Keeps nothing: for places from which no address is reached, and for servers that may use nobody's logins.
pub struct NoTokens;

impl TokenStore for NoTokens {
    fn load<'a>(&'a self, _: &'a str) -> BoxFuture<'a, std::io::Result<Option<Secret<String>>>> {
        std::future::ready(Ok(None)).boxed()
    }

    fn save<'a>(&'a self, _: &'a str, _: Option<Secret<String>>) -> BoxFuture<'a, std::io::Result<()>> {
        std::future::ready(Ok(())).boxed()
    }
}
