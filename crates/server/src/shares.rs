//! Links that show one conversation to whoever has them. Only a hash of what opens it is kept.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::http::StatusCode;
use deft_store::Store;
use deft_types::{ConversationId, Secret, UserId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::accounts::hash;
use crate::failure::Failure;
use crate::vault;

/// What the keys of their documents begin with.
const FOLDER: &str = "shares/";
/// Characters of the part of a link that is no secret.
const ID_LENGTH: usize = 12;
/// Links of one conversation.
const MAX_SHARES: usize = 50;

/// A link, without what opens the conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Share {
    /// Names it; no secret.
    pub(crate) id: String,
    /// Whose the conversation is. None: of whoever owns the server.
    pub(crate) owner: Option<UserId>,
    pub(crate) conversation: ConversationId,
    pub(crate) created_at: SystemTime,
    pub(crate) expires_at: Option<SystemTime>,
    /// SHA-256 of its token, which has 256 random bits.
    hash: String,
}

impl Share {
    fn is_expired(&self) -> bool {
        self.expires_at.is_some_and(|end| end <= SystemTime::now())
    }
}

/// All links there are, whosever they are.
pub(crate) struct Shares {
    store: Arc<dyn Store>,
}

impl Shares {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// Makes a link. Its token is given here and never again.
    pub(crate) async fn create(
        &self,
        owner: Option<UserId>,
        conversation: ConversationId,
        lifetime: Option<Duration>,
    ) -> Result<(Share, Secret<String>), Failure> {
        if self.list(conversation).await?.len() >= MAX_SHARES {
            let sentence = format!("This conversation has {MAX_SHARES} links already; revoke one first");
            return Err(Failure::new(StatusCode::CONFLICT, sentence));
        }
        let id: String = vault::new_client_key()?.chars().take(ID_LENGTH).collect();
        let token = format!("{}.{id}.{}", conversation.hex(), vault::new_client_key()?);
        let created_at = SystemTime::now();
        let share = Share {
            owner,
            conversation,
            created_at,
            expires_at: lifetime.and_then(|lifetime| created_at.checked_add(lifetime)),
            hash: hash(&token),
            id,
        };
        let text = serde_json::to_string(&share)
            .map_err(|error| Failure::internal("the link cannot be kept", &error))?;
        self.store
            .swap_document(key(conversation, &share.id), None, Some(text))
            .await?;
        Ok((share, Secret::new(token)))
    }

    /// The links of a conversation, the oldest first.
    pub(crate) async fn list(&self, conversation: ConversationId) -> Result<Vec<Share>, Failure> {
        let found = self.store.documents(&key(conversation, "")).await?;
        let mut shares: Vec<_> = found.iter().filter_map(|(_, text)| read(text)).collect();
        shares.sort_by_key(|share| share.created_at);
        Ok(shares)
    }

    /// Takes a link back; whether there was one.
    pub(crate) async fn revoke(&self, conversation: ConversationId, id: &str) -> Result<bool, Failure> {
        let key = key(conversation, id);
        let Some(text) = self.store.document(&key).await? else {
            return Ok(false);
        };
        Ok(self.store.swap_document(key, Some(text), None).await?)
    }

    /// Takes all links of a conversation back.
    pub(crate) async fn revoke_all(&self, conversation: ConversationId) -> Result<(), Failure> {
        for share in self.list(conversation).await? {
            self.revoke(conversation, &share.id).await?;
        }
        Ok(())
    }

    /// What a token opens now.
    pub(crate) async fn opened(&self, token: &str) -> Result<Option<Share>, Failure> {
        let mut parts = token.splitn(3, '.');
        let (Some(conversation), Some(id)) = (parts.next(), parts.next()) else {
            return Ok(None);
        };
        let Ok(conversation) = Uuid::parse_str(conversation).map(ConversationId) else {
            return Ok(None);
        };
        let found = self.store.document(&key(conversation, id)).await?;
        let share = found.as_deref().and_then(read);
        // How long this takes tells only about hashes, which nobody can choose.
        Ok(share.filter(|share| share.hash == hash(token) && !share.is_expired()))
    }

    /// Whether a link still opens anything.
    pub(crate) async fn is_good(&self, share: &Share) -> bool {
        let key = key(share.conversation, &share.id);
        !share.is_expired() && matches!(self.store.document(&key).await, Ok(Some(_)))
    }
}

fn key(conversation: ConversationId, id: &str) -> String {
    format!("{FOLDER}{}/{id}", conversation.hex())
}

fn read(text: &str) -> Option<Share> {
    serde_json::from_str(text).ok()
}
