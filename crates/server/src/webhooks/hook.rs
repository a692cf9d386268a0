//! One webhook, and which conversations it is being told of just now.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use deft_types::ConversationId;
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use ring::digest;
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

use super::mail::Letter;
use super::signature;
use super::spec::Webhook;

/// Requests to one webhook that are under way at once.
const MAX_REQUESTS: usize = 16;
/// How long a receiver may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// The longest wait between two attempts.
const LONGEST_WAIT: Duration = Duration::from_mins(5);

/// See the module.
pub(super) struct Hook {
    /// The same as long as the address is.
    pub(super) id: String,
    pub(super) spec: Webhook,
    client: reqwest::Client,
    pub(super) origin: Origin,
    requests: Semaphore,
    lanes: Mutex<HashMap<ConversationId, Arc<Lane>>>,
    tally: Mutex<Tally>,
}

/// Where a webhook was named.
pub(super) enum Origin {
    /// Where the server is set up. The first key of the server goes along, as the contract has it.
    Configured(Option<HeaderValue>),
    /// By somebody who uses it: the server's key is none of theirs to give away.
    Kept,
}

/// What came of the requests since the start.
#[derive(Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) delivered: u64,
    pub(super) failed: u64,
    pub(super) last_delivery: Option<SystemTime>,
}

/// The deliveries about one conversation: one after the other.
#[derive(Default)]
pub(super) struct Lane {
    /// How often somebody said that there is something to deliver.
    wanted: AtomicU64,
    pub(super) wake: Notify,
    /// The conversation is about to be deleted.
    pub(super) stop: CancellationToken,
    trouble: Mutex<Option<Trouble>>,
}

/// Why a lane does not get on.
#[derive(Clone)]
pub(super) struct Trouble {
    pub(super) attempts: u32,
    pub(super) reason: String,
    pub(super) next_attempt: SystemTime,
}

impl Lane {
    pub(super) fn wanted(&self) -> u64 {
        self.wanted.load(Ordering::SeqCst)
    }

    pub(super) fn trouble(&self) -> MutexGuard<'_, Option<Trouble>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hook {
    pub(super) fn new(spec: Webhook, client: reqwest::Client, origin: Origin) -> Self {
        let digest = digest::digest(&digest::SHA256, spec.base_url.as_str().as_bytes());
        let start = digest.as_ref().iter().take(8);
        Self {
            id: start.map(|byte| format!("{byte:02x}")).collect(),
            spec,
            client,
            origin,
            requests: Semaphore::new(MAX_REQUESTS),
            lanes: Mutex::default(),
            tally: Mutex::default(),
        }
    }

    /// There is something to deliver. Gives a lane that nobody works on yet, if it takes one.
    pub(super) fn want(&self, id: ConversationId) -> Option<Arc<Lane>> {
        let mut lanes = self.lanes();
        if let Some(lane) = lanes.get(&id) {
            lane.wanted.fetch_add(1, Ordering::SeqCst);
            lane.wake.notify_one();
            return None;
        }
        let lane = Arc::new(Lane::default());
        lanes.insert(id, Arc::clone(&lane));
        Some(lane)
    }

    /// Closes a lane on which everything was delivered, unless something has come meanwhile.
    pub(super) fn retire(&self, id: ConversationId, lane: &Arc<Lane>, wanted: u64) -> bool {
        let mut lanes = self.lanes();
        if lane.wanted() != wanted {
            return false;
        }
        if lanes.get(&id).is_some_and(|known| Arc::ptr_eq(known, lane)) {
            lanes.remove(&id);
        }
        true
    }

    /// Closes a lane now.
    pub(super) fn close(&self, id: ConversationId) {
        if let Some(lane) = self.lanes().remove(&id) {
            lane.stop.cancel();
        }
    }

    /// Closes all of them now.
    pub(super) fn close_all(&self) {
        for (_, lane) in self.lanes().drain() {
            lane.stop.cancel();
        }
    }

    pub(super) fn lanes(&self) -> MutexGuard<'_, HashMap<ConversationId, Arc<Lane>>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request once. The sentence says why it did not arrive.
    pub(super) async fn send(&self, letter: &Letter) -> Result<(), String> {
        let _place = self.requests.acquire().await.map_err(|error| error.to_string())?;
        let mut request = self
            .client
            .post(self.address(&letter.path))
            .headers(self.spec.headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .timeout(ANSWER_LIMIT);
        if let Origin::Configured(Some(key)) = &self.origin {
            request = request.header(crate::security::KEY_HEADER, key);
        }
        let secret = self.spec.secret.as_ref();
        for (name, value) in signature::headers(secret, &letter.id, &letter.body, SystemTime::now()) {
            request = request.header(name, value);
        }
        let answer = request.body(letter.body.clone()).send().await;
        let answer = answer.map_err(|error| deft_net::root_cause(&error))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        Err(format!("it was answered with {status}"))
    }

    fn address(&self, path: &str) -> Url {
        let mut url = self.spec.base_url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path.split('/'));
        }
        url
    }

    /// How long to wait after so many failures: somewhere in the upper half of it, so that not all come together.
    pub(super) fn wait(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(self.spec.num_retries).min(16);
        let longest = self
            .spec
            .retry_delay
            .saturating_mul(1 << doublings)
            .min(LONGEST_WAIT);
        let mut random = [0_u8];
        let _ = SystemRandom::new().fill(&mut random); // no spread where there are no random numbers
        longest / 2 + longest / 2 * u32::from(random[0]) / 255
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_wait_doubles_after_the_usual_retries_and_is_spread() {
        let spec = json!({"base_url": "http://localhost/hook", "num_retries": 2, "retry_delay": 4});
        let spec: Webhook = serde_json::from_value(spec).unwrap();
        let client = deft_net::client(None, &spec.base_url).unwrap();
        let hook = Hook::new(spec, client, Origin::Kept);
        for (failures, longest) in [
            (1, 4),
            (2, 4),
            (3, 8),
            (4, 16),
            (5, 32),
            (9, 300),
            (4_000_000_000, 300),
        ] {
            let longest = Duration::from_secs(longest);
            let waits: Vec<_> = (0..64).map(|_| hook.wait(failures)).collect();
            assert!(
                waits.iter().all(|wait| (longest / 2..=longest).contains(wait)),
                "{failures}: {waits:?}"
            );
            assert!(waits.iter().any(|wait| *wait != waits[0]), "all come together");
        }
    }
}
