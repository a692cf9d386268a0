//! What is kept beside conversations: settings, secrets, profiles. Sealed, since any of it may hold a key.

use std::sync::Arc;

use deft_store::KeyOrder;
use serde_json::Value;

use crate::catalog::Catalog;
use crate::failure::Failure;

/// How often a change is tried again when another was faster.
const MAX_TRIES: usize = 16;
/// Documents of a folder that are taken away at once.
const CLEARED_AT_ONCE: usize = 100;

/// See the module.
#[derive(Clone)]
pub(crate) struct Documents {
    catalog: Arc<Catalog>,
}

impl Documents {
    pub(crate) fn new(catalog: Arc<Catalog>) -> Self {
        Self { catalog }
    }

    /// One document.
    pub(crate) async fn get(&self, key: &str) -> Result<Option<Value>, Failure> {
        let sealed = self.catalog.store.document(key).await?;
        sealed.map(|sealed| self.open(key, &sealed)).transpose()
    }

    /// All in a folder, which ends with a slash, by their names.
    pub(crate) async fn list(&self, folder: &str) -> Result<Vec<(String, Value)>, Failure> {
        let found = self.catalog.store.documents(folder).await?;
        self.opened(folder, found)
    }

    /// Some in a folder, by their names: those beyond a name in their order.
    pub(crate) async fn page(
        &self,
        folder: &str,
        beyond: Option<&str>,
        order: KeyOrder,
        limit: usize,
    ) -> Result<Vec<(String, Value)>, Failure> {
        let beyond = beyond.map(|name| format!("{folder}{name}"));
        let store = &self.catalog.store;
        let found = store
            .documents_page(folder, beyond.as_deref(), order, limit)
            .await?;
        self.opened(folder, found)
    }

    /// How many are in a folder.
    pub(crate) async fn count(&self, folder: &str) -> Result<u64, Failure> {
        Ok(self.catalog.store.count_documents(folder).await?)
    }

    /// Takes all in a folder away, without looking at them.
    pub(crate) async fn clear(&self, folder: &str) -> Result<(), Failure> {
        let store = &self.catalog.store;
        loop {
            let page = store
                .documents_page(folder, None, KeyOrder::Ascending, CLEARED_AT_ONCE)
                .await?;
            if page.is_empty() {
                return Ok(());
            }
            for (key, text) in page {
                store.swap_document(key, Some(text), None).await?;
            }
        }
    }

    fn opened(&self, folder: &str, found: Vec<(String, String)>) -> Result<Vec<(String, Value)>, Failure> {
        let open = |(key, sealed): (String, String)| {
            let value = self.open(&key, &sealed)?;
            Ok((key[folder.len()..].to_owned(), value))
        };
        found.into_iter().map(open).collect()
    }

    /// Changes a document as `edit` says, which may be asked again when another change came between.
    pub(crate) async fn change<T>(
        &self,
        key: &str,
        mut edit: impl FnMut(Option<Value>) -> Result<(Option<Value>, T), Failure>,
    ) -> Result<T, Failure> {
        for _ in 0..MAX_TRIES {
            let before = self.catalog.store.document(key).await?;
            let value = before.as_ref().map(|sealed| self.open(key, sealed)).transpose()?;
            let (after, answer) = edit(value)?;
            let after = after.map(|value| self.catalog.vault.seal(key, &value.to_string()));
            let swapped = self
                .catalog
                .store
                .swap_document(key.to_owned(), before, after.transpose()?);
            if swapped.await? {
                return Ok(answer);
            }
        }
        Err(Failure::internal(
            "too many want to change this at once; try again",
            &"a document was changed by others each time",
        ))
    }

    /// Puts a document in its place, whatever was there.
    pub(crate) async fn put(&self, key: &str, value: &Value) -> Result<(), Failure> {
        self.change(key, |_| Ok((Some(value.clone()), ()))).await
    }

    /// Takes a document away; gives what it was.
    pub(crate) async fn take(&self, key: &str) -> Result<Option<Value>, Failure> {
        self.change(key, |value| Ok((None, value))).await
    }

    fn open(&self, key: &str, sealed: &str) -> Result<Value, Failure> {
        let text = self.catalog.vault.open_sealed(key, sealed)?;
        serde_json::from_str(&text).map_err(|error| {
            Failure::internal("what is stored is damaged; the server's log says more", &error)
        })
    }
}
