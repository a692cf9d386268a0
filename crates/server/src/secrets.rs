//! The secrets that clients give to a conversation.

mod elsewhere;

use std::collections::BTreeMap;
use std::sync::Arc;

use deft_engine::{SecretLookup, SecretSources};
use deft_tools::SecretSet;
use deft_types::Secret;
use futures::FutureExt;
use futures::future::{self, BoxFuture};
use serde_json::{Map, Value};

use crate::agent::Agent;
use crate::catalog::Catalog;
use crate::composition::Composition;
use crate::documents::Documents;
use crate::failure::Failure;

/// Where secrets for all conversations are kept, and where clients find them.
pub(crate) const FOLDER: &str = "secrets/";
const PATH: &str = "/api/settings/secrets/";
const NO_ADDRESSES: &str = "only an admin may name addresses: they are reached by the server itself";
const NOT_HERE: &str =
    "its address is none of a secret: name one below /api/settings/secrets/, or a whole address";

/// Whether servers may be reached by addresses that a client names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addresses {
    Reached,
    Refused,
}

/// All that a client gives to a conversation, by name: with its agent, then with the conversation itself.
pub(crate) struct Given<'a>(BTreeMap<&'a str, &'a Value>);

impl<'a> Given<'a> {
    pub(crate) fn of(agent: &'a Agent, secrets: Option<&'a Map<String, Value>>) -> Self {
        let with_agent = agent.context()["secrets"].as_object();
        let all = with_agent.into_iter().chain(secrets).flatten();
        Self(all.map(|(name, sent)| (name.as_str(), sent)).collect())
    }

    /// Those of them that the profile of the agent lets it have, where it names some.
    pub(crate) fn only(mut self, names: Option<&Vec<Value>>) -> Self {
        if let Some(names) = names {
            self.0
                .retain(|name, _| names.iter().any(|allowed| allowed == *name));
        }
        self
    }

    /// Each with what it is for.
    pub(crate) fn described(&self) -> Vec<(String, Option<String>)> {
        let described = |(name, sent): (&&str, &&Value)| {
            let description = sent["description"].as_str();
            ((*name).to_owned(), description.map(str::to_owned))
        };
        self.0.iter().map(described).collect()
    }

    /// Those whose values were sent, and who to ask for the others.
    pub(crate) fn sources(&self, keeper: Keeper) -> Result<SecretSources, Failure> {
        let value = |sent: &Value| sent.as_str().or(sent["value"].as_str()).map(str::to_owned);
        let values: BTreeMap<_, _> = self
            .0
            .iter()
            .filter_map(|(name, sent)| Some(((*name).to_owned(), Secret::new(value(sent)?))))
            .collect();
        let values = SecretSet::new(values).map_err(|error| Failure::refused(error.to_string()))?;
        let addresses: BTreeMap<_, _> = self
            .0
            .iter()
            .filter_map(|(name, sent)| Some(((*name).to_owned(), Address::of(sent)?)))
            .collect();
        let lookup = (!addresses.is_empty())
            .then(|| -> Arc<dyn SecretLookup> { Arc::new(Kept { keeper, addresses }) });
        Ok(SecretSources { values, lookup })
    }
}

/// Who knows the secrets that others keep.
pub(crate) struct Keeper {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) composition: Arc<dyn Composition>,
    pub(crate) addresses: Addresses,
}

/// Where a secret is.
struct Address {
    url: String,
    headers: Vec<(String, String)>,
}

impl Address {
    fn of(sent: &Value) -> Option<Self> {
        let headers = sent["headers"].as_object().into_iter().flatten();
        Some(Self {
            url: sent["url"].as_str()?.to_owned(),
            headers: headers
                .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
                .collect(),
        })
    }
}

/// Secrets that have addresses: here, among those for all conversations, or anywhere.
struct Kept {
    keeper: Keeper,
    addresses: BTreeMap<String, Address>,
}

impl SecretLookup for Kept {
    fn names(&self) -> Vec<String> {
        self.addresses.keys().cloned().collect()
    }

    fn look_up(&self, name: &str) -> BoxFuture<'static, Result<Secret<String>, String>> {
        let Some(Address { url, headers }) = self.addresses.get(name) else {
            return future::ready(Err("nobody keeps it".to_owned())).boxed();
        };
        if let Some(name) = url.strip_prefix(PATH) {
            let documents = Documents::new(Arc::clone(&self.keeper.catalog));
            let key = format!("{FOLDER}{name}");
            return async move {
                let kept = documents
                    .get(&key)
                    .await
                    .map_err(|_| "it cannot be read".to_owned())?;
                let value = kept.as_ref().and_then(|kept| kept["value"].as_str());
                let value = value.ok_or_else(|| "there is none of this name".to_owned())?;
                Ok(Secret::new(value.to_owned()))
            }
            .boxed();
        }
        let refusal = match self.keeper.addresses {
            _ if url.starts_with('/') => NOT_HERE,
            Addresses::Refused => NO_ADDRESSES,
            Addresses::Reached => {
                let ca_file = self.keeper.composition.ca_file();
                let (url, headers) = (url.clone(), headers.clone());
                return async move { elsewhere::ask_for(ca_file.as_deref(), &url, headers).await }.boxed();
            }
        };
        future::ready(Err(refusal.to_owned())).boxed()
    }
}
