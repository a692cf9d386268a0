//! Delivers what one webhook is to hear of one conversation: in order, each until it arrives or is given up.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use deft_store::StoreError;
use deft_types::ConversationId;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::batch::Batch;
use super::hook::{Hook, Lane, Trouble};
use super::mail::{DeadLetter, Letter, Mail};
use crate::failure::Failure;
use crate::info::utc;

/// How long to wait when the store fails.
const STORE_PAUSE: Duration = Duration::from_secs(1);

/// See the module. It ends when everything was delivered.
pub(super) struct Courier {
    pub(super) mail: Arc<Mail>,
    pub(super) hook: Arc<Hook>,
    pub(super) lane: Arc<Lane>,
    pub(super) id: ConversationId,
    /// The server stops: what waits is tried once more, and stays in the store if it does not arrive.
    pub(super) stopping: CancellationToken,
}

/// Something to deliver.
enum Parcel {
    /// Kept under a key until it has arrived.
    Kept(String, Letter),
    /// Of the log.
    Events(Batch),
}

/// Whether to go on.
#[derive(PartialEq, Eq)]
enum Next {
    GoOn,
    Stop,
}

impl Courier {
    pub(super) async fn run(self) {
        let stop = self.lane.stop.clone();
        stop.run_until_cancelled(self.deliver_all()).await;
    }

    async fn deliver_all(&self) {
        loop {
            let wanted = self.lane.wanted();
            let next = match self.next().await {
                Ok(Some(parcel)) => self.deliver(parcel).await,
                Ok(None) if self.hook.retire(self.id, &self.lane, wanted) => return,
                Ok(None) => Ok(Next::GoOn),
                Err(failure) => Err(failure),
            };
            match next {
                Ok(Next::GoOn) => {}
                Ok(Next::Stop) => return,
                Err(failure) => {
                    tracing::warn!(webhook = self.hook.id, conversation = %self.id, ?failure, "a webhook waits for the store");
                    if self.pause(STORE_PAUSE).await == Next::Stop {
                        return;
                    }
                }
            }
        }
    }

    /// What is to be delivered next. A few events wait for more, up to a limit.
    async fn next(&self) -> Result<Option<Parcel>, Failure> {
        let spec = &self.hook.spec;
        let due = Instant::now() + spec.flush_delay;
        loop {
            if let Some((key, letter)) = self.mail.first(&self.hook.id, self.id).await? {
                return Ok(Some(Parcel::Kept(key, letter)));
            }
            let Some(cursor) = self.mail.cursor(&self.hook.id, self.id).await? else {
                return Ok(None);
            };
            let page = self
                .mail
                .catalog
                .store
                .read(self.id, cursor.next, spec.event_buffer_size);
            let page = match page.await {
                Err(StoreError::NotFound(_)) => return Ok(None), // deleted meanwhile
                page => page?,
            };
            if page.is_empty() {
                return Ok(None);
            }
            let is_due = Instant::now() >= due || self.stopping.is_cancelled();
            if is_due || page.len() >= spec.event_buffer_size {
                let batch = Batch::pack(&self.mail, self.id, cursor, &page, spec.max_batch_bytes);
                return Ok(Some(Parcel::Events(batch.await?)));
            }
            tokio::select! {
                () = self.lane.wake.notified() => {}
                () = sleep_until(due) => {}
                () = self.stopping.cancelled() => {}
            }
        }
    }

    async fn deliver(&self, parcel: Parcel) -> Result<Next, Failure> {
        let letter = match &parcel {
            Parcel::Kept(_, letter) => Some(letter),
            Parcel::Events(batch) => batch.letter.as_ref(),
        };
        if let Some(letter) = letter
            && self.send(letter).await? == Next::Stop
        {
            return Ok(Next::Stop);
        }
        match parcel {
            Parcel::Kept(key, _) => self.mail.remove(&key).await?,
            Parcel::Events(Batch { from, through, .. }) => {
                let next = through.next();
                self.mail.advance(&self.hook.id, self.id, from, next).await?;
            }
        }
        Ok(Next::GoOn)
    }

    /// Tries until it arrives, or puts it aside.
    async fn send(&self, letter: &Letter) -> Result<Next, Failure> {
        let mut attempts = 0;
        while let Err(reason) = self.hook.send(letter).await {
            attempts += 1;
            self.hook.tally().failed += 1;
            if attempts >= self.hook.spec.dead_letter_after {
                tracing::error!(webhook = self.hook.id, conversation = %self.id, attempts, reason, "a webhook gets no answer; the request is put aside");
                *self.lane.trouble() = None;
                let dead = DeadLetter {
                    letter: letter.clone(),
                    reason,
                    attempts,
                    at: utc(SystemTime::now()),
                };
                self.mail.bury(&self.hook.id, &dead).await?;
                return Ok(Next::GoOn);
            }
            let wait = self.hook.wait(attempts);
            tracing::warn!(webhook = self.hook.id, conversation = %self.id, attempts, reason, "a webhook failed");
            *self.lane.trouble() = Some(Trouble {
                attempts,
                reason,
                next_attempt: SystemTime::now() + wait,
            });
            if self.pause(wait).await == Next::Stop {
                return Ok(Next::Stop);
            }
        }
        *self.lane.trouble() = None;
        let mut tally = self.hook.tally();
        tally.delivered += 1;
        tally.last_delivery = Some(SystemTime::now());
        Ok(Next::GoOn)
    }

    async fn pause(&self, time: Duration) -> Next {
        tokio::select! {
            () = sleep(time) => Next::GoOn,
            () = self.stopping.cancelled() => Next::Stop,
        }
    }
}
