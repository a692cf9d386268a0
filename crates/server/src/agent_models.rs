//! Which models agents that are programs of their own have, as they said when they were last asked.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ring::digest;
use serde_json::Value;

/// How long it is taken for true.
const KEPT_FOR: Duration = Duration::from_mins(10);
/// How many agents are remembered.
const MAX_KEPT: usize = 64;

/// See the module. Failures are not kept: what was wrong may be mended.
#[derive(Default)]
pub(crate) struct AgentModels(Mutex<HashMap<Question, (Instant, Value)>>);

/// What was asked for: a digest, since there are keys in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Question([u8; 32]);

impl Question {
    pub(crate) fn new(agent: &Value, secrets: &Value) -> Self {
        let text = format!("{agent}\n{secrets}");
        let digest = digest::digest(&digest::SHA256, text.as_bytes());
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest.as_ref());
        Self(bytes)
    }
}

impl AgentModels {
    pub(crate) fn get(&self, question: Question) -> Option<Value> {
        let mut kept = self.lock();
        kept.retain(|_, (at, _)| at.elapsed() < KEPT_FOR);
        kept.get(&question).map(|(_, answer)| answer.clone())
    }

    pub(crate) fn put(&self, question: Question, answer: &Value) {
        let mut kept = self.lock();
        let oldest = kept
            .iter()
            .min_by_key(|(_, (at, _))| *at)
            .map(|(question, _)| *question);
        if let Some(oldest) = oldest.filter(|_| kept.len() >= MAX_KEPT) {
            kept.remove(&oldest);
        }
        kept.insert(question, (Instant::now(), answer.clone()));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Question, (Instant, Value)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
