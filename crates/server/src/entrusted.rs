//! A workspace whose executor is given the secrets of its conversation before anything runs there.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use deft_executor::Client;
use deft_tools::SecretSet;
use deft_types::Secret;
use deft_workspace::{Stream, Workspace, WorkspaceError};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// See the module.
pub(crate) struct Entrusted {
    workspace: Arc<dyn Workspace>,
    secrets: Mutex<SecretSet>,
}

/// The secrets of a request whose values it carries. Those that name an address are not fetched.
pub(crate) fn secrets_of(request: &Map<String, Value>) -> Result<SecretSet, Failure> {
    let sent = request.get("secrets").and_then(Value::as_object);
    let value = |sent: &Value| sent.as_str().or(sent["value"].as_str()).map(str::to_owned);
    let secrets: BTreeMap<_, _> = sent
        .into_iter()
        .flatten()
        .filter_map(|(name, sent)| Some((name.clone(), Secret::new(value(sent)?))))
        .collect();
    SecretSet::new(secrets).map_err(|error| Failure::refused(error.to_string()))
}

impl Entrusted {
    pub(crate) fn new(workspace: Arc<dyn Workspace>, secrets: SecretSet) -> Self {
        Self {
            workspace,
            secrets: Mutex::new(secrets),
        }
    }

    /// Uses other secrets from now on, also where an executor runs already.
    pub(crate) async fn change(&self, secrets: SecretSet) {
        *self.secrets.lock().unwrap_or_else(PoisonError::into_inner) = secrets;
        if let Some(stream) = self.workspace.find().await {
            self.hand_over(stream).await;
        }
    }

    /// Gives the executor the secrets, and waits until it has them: what it answers comes after what it was told.
    async fn hand_over(&self, stream: Box<dyn Stream>) {
        let secrets = self
            .secrets
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let Ok(client) = Client::connect(stream).await else {
            return; // whoever uses it next is told why
        };
        client.set_secrets(secrets).await;
        let _ = client.commands().await;
    }
}

impl Workspace for Entrusted {
    fn open(&self) -> BoxFuture<'_, Result<Box<dyn Stream>, WorkspaceError>> {
        async move {
            let is_empty = self
                .secrets
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .iter()
                .next()
                .is_none();
            if !is_empty {
                self.hand_over(self.workspace.open().await?).await;
            }
            self.workspace.open().await
        }
        .boxed()
    }

    fn find(&self) -> BoxFuture<'_, Option<Box<dyn Stream>>> {
        self.workspace.find()
    }
}
