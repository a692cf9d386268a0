//! A user's login to `ChatGPT`, whose subscription pays for models: kept sealed, renewed before it expires, never shown.

mod kept;
mod pending;

use std::fmt;
use std::sync::Arc;

use axum::http::StatusCode;
use deft_llm::{ChatGptIssuer, LoginError, ModelError, Pass, Subscription};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::task::JoinError;

use self::kept::{Kept, milliseconds_now};
use self::pending::{PATIENCE, Pending, Poll};
use crate::composition::Composition;
use crate::documents::Documents;
use crate::failure::Failure;
use crate::vault::new_client_key;

/// Where it is kept among the documents.
const PLACE: &str = "subscriptions/openai";

/// What somebody has to do who is not logged in.
const LOG_IN: &str = "nobody is logged in to ChatGPT here: begin with POST /api/llm/subscription/openai/device/start, \
    or set `auth_type` to `api_key` and give an API key";

/// The login of one user.
pub(crate) struct ChatGptLogin {
    documents: Documents,
    composition: Arc<dyn Composition>,
    pending: Pending,
    /// Held by whoever changes what is kept: tokens are renewed once, and who logs out stays logged out.
    changing: Arc<Mutex<()>>,
}

impl ChatGptLogin {
    pub(crate) fn new(documents: Documents, composition: Arc<dyn Composition>) -> Self {
        Self {
            documents,
            composition,
            pending: Pending::default(),
            changing: Arc::default(),
        }
    }

    /// Begins a login; says what the person is to do.
    pub(crate) async fn start(&self) -> Result<Value, Failure> {
        let code = self.issuer().start().await.map_err(|error| failed(&error))?;
        let patience = u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX);
        let token = new_client_key()?;
        let answer = json!({"device_code": token, "user_code": code.user_code,
            "verification_uri": code.verification_uri, "verification_uri_complete": null,
            "expires_at": milliseconds_now() + patience, "interval_seconds": code.interval});
        self.pending.add(token, code);
        Ok(answer)
    }

    /// Asks whether the person has agreed.
    pub(crate) async fn poll(&self, token: &str) -> Result<Value, Failure> {
        let (code, asking) = match self.pending.begin_poll(token) {
            Poll::Ask(code, asking) => (code, asking),
            Poll::BeingAsked => return Ok(shown(None)),
            Poll::Unknown => {
                let sentence = "Subscription device login not found or expired";
                return Err(Failure::new(StatusCode::NOT_FOUND, sentence));
            }
        };
        let polled = self.issuer().poll(&code).await;
        let _changing = self.changing.lock().await;
        let still_wanted = asking.end(matches!(polled, Ok(Some(_))));
        match polled.map_err(|error| failed(&error))? {
            Some(tokens) if still_wanted => {
                let kept = Kept::new(tokens, None)
                    .ok_or_else(|| failed(&LoginError::Unexpected("refresh_token")))?;
                self.documents.put(PLACE, &kept.sealed()).await?;
                Ok(shown(Some(&kept)))
            }
            Some(_) | None => Ok(shown(None)),
        }
    }

    /// Whether somebody is logged in. A login that is refused is none; while nobody can be asked it is what it was.
    pub(crate) async fn status(&self) -> Result<Value, Failure> {
        let kept = match self.fresh().await {
            Ok(kept) => kept,
            Err(error) if error.is_transient() => {
                tracing::info!(%error, "a login to ChatGPT is not renewed now");
                self.documents.get(PLACE).await?.as_ref().and_then(Kept::read)
            }
            Err(error) => {
                tracing::info!(%error, "a login to ChatGPT is of no use");
                None
            }
        };
        Ok(shown(kept.as_ref()))
    }

    /// Forgets it, and logins that are under way.
    pub(crate) async fn log_out(&self) -> Result<Value, Failure> {
        let _changing = self.changing.lock().await;
        self.pending.clear();
        self.documents.take(PLACE).await?;
        Ok(shown(None))
    }

    /// What is kept, renewed where it is about to expire.
    async fn fresh(&self) -> Result<Option<Kept>, ModelError> {
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let unkept = |failure: Failure| ModelError::Unavailable {
            detail: format!("the login to ChatGPT cannot be read: {}", failure.detail()),
        };
        let stored = self.documents.get(PLACE).await.map_err(unkept)?;
        let Some(kept) = stored.as_ref().and_then(Kept::read) else {
            return Ok(None);
        };
        if kept.is_fresh() {
            return Ok(Some(kept));
        }
        let (issuer, documents) = (self.issuer(), self.documents.clone());
        // A task of its own: the old token is of no use any more when the new one comes, whether or not anybody waits.
        let renewing = tokio::spawn(async move {
            let _changing = changing;
            let renewed = issuer.refresh(&kept.refresh).await;
            let renewed = Kept::new(renewed.map_err(|error| in_vain(&error))?, Some(kept));
            if let Some(renewed) = &renewed {
                documents.put(PLACE, &renewed.sealed()).await.map_err(unkept)?;
            }
            Ok(renewed)
        });
        let unfinished = |error: JoinError| ModelError::Unavailable {
            detail: format!("the login to ChatGPT was not renewed: {error}"),
        };
        renewing.await.map_err(unfinished)?
    }

    fn issuer(&self) -> ChatGptIssuer {
        ChatGptIssuer::new(&self.composition.chatgpt(), self.composition.ca_file())
    }
}

impl Subscription for ChatGptLogin {
    fn pass(&self) -> BoxFuture<'_, Result<Pass, ModelError>> {
        async {
            let detail = || LOG_IN.to_owned();
            let kept = self.fresh().await?;
            let kept = kept.ok_or_else(|| ModelError::Login { detail: detail() })?;
            Ok(Pass {
                token: kept.access,
                account: kept.account,
            })
        }
        .boxed()
    }

    fn backend(&self) -> String {
        self.composition.chatgpt().backend
    }
}

impl fmt::Debug for ChatGptLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChatGptLogin")
    }
}

/// What a client may know.
fn shown(kept: Option<&Kept>) -> Value {
    json!({"vendor": "openai", "connected": kept.is_some(),
        "account_email": kept.and_then(|kept| kept.email.as_deref()), "expires_at": kept.map(|kept| kept.expires_at)})
}

fn failed(error: &LoginError) -> Failure {
    Failure::rewritten(StatusCode::BAD_GATEWAY, &error.to_string())
}

/// A model is not answered: asking again helps only where nobody has refused.
fn in_vain(error: &LoginError) -> ModelError {
    let detail = error.to_string();
    match error {
        LoginError::Unreachable(_) => ModelError::Network { detail },
        LoginError::NotOffered | LoginError::Refused(_) | LoginError::Unexpected(_) => {
            ModelError::Login { detail }
        }
    }
}
