//! The one thread that writes: takes what is queued, commits it together, answers everybody.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::database::Database;
use super::flusher::Flusher;
use super::follow::Followers;
use super::request::{Message, QUEUE_LIMIT, Request, Submit};
use super::{Durability, Options, events};
use crate::error::StoreError;

/// How often to look for commits of other processes, on behalf of the followers.
const FOREIGN_COMMITS_EVERY: Duration = Duration::from_millis(200);

/// Owns the writing thread; dropping it lets the thread finish what is queued and waits for that.
pub(super) struct Writer {
    pub(super) submit: Submit,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(
        database: Database,
        flusher: Flusher,
        followers: Arc<Followers>,
        options: Options,
    ) -> Result<Self, StoreError> {
        let (queue, messages) = sync_channel(QUEUE_LIMIT + 1);
        let work = Work {
            messages,
            flusher,
            database,
            followers,
            options,
            stopped: false,
            last_batch: 0,
            last_commit: Duration::ZERO,
            unplaced: events::UNPLACED,
            data_version: 0,
            looked: Instant::now(),
        };
        let thread = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || work.run())?;
        Ok(Self {
            submit: Submit::new(queue),
            thread: Some(thread),
        })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.submit.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Work {
    messages: Receiver<Message>,
    // Before the database, which tidies the file up if it is the last.
    flusher: Flusher,
    database: Database,
    followers: Arc<Followers>,
    options: Options,
    stopped: bool,
    /// How many requests the last batch had, and how long its commit took.
    last_batch: usize,
    last_commit: Duration,
    /// How many events were written since their places were last noted; at first unknown.
    unplaced: usize,
    /// Of when the followers were last told of commits of other processes.
    data_version: i64,
    /// When that was last read.
    looked: Instant,
}

type Outcomes = Vec<Result<(), StoreError>>;

impl Work {
    fn run(mut self) {
        while !self.stopped {
            if let Some(first) = self.receive(FOREIGN_COMMITS_EVERY) {
                self.carry_out(vec![first]);
                if self.unplaced >= events::UNPLACED {
                    self.place();
                }
            }
            if self.looked.elapsed() >= FOREIGN_COMMITS_EVERY {
                self.look_for_foreign_commits();
            }
        }
    }

    /// The next request; none if none comes in time.
    fn receive(&mut self, patience: Duration) -> Option<Box<dyn Request>> {
        if self.stopped {
            return None;
        }
        match self.messages.recv_timeout(patience) {
            Ok(Message::Request(request)) => Some(request),
            Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => {
                self.stopped = true;
                None
            }
            Err(RecvTimeoutError::Timeout) => None,
        }
    }

    /// Commits a request and those that come while it is carried out together. One that fails fails alone; if
    /// the commit fails, all do.
    fn carry_out(&mut self, mut batch: Vec<Box<dyn Request>>) {
        let outcomes = self.commit(&mut batch);
        self.last_batch = batch.len();
        match outcomes {
            Ok(outcomes) => {
                self.flusher.mark_dirty();
                self.unplaced += batch.iter().map(|request| request.events()).sum::<usize>();
                for (request, outcome) in batch.iter_mut().zip(outcomes) {
                    request.finish(outcome);
                }
            }
            Err(error) => {
                let _ = self.database.roll_back(); // whatever comes of it, nothing is committed
                for request in &mut batch {
                    request.finish(Err(error.clone()));
                }
            }
        }
    }

    fn commit(&mut self, batch: &mut Vec<Box<dyn Request>>) -> Result<Outcomes, StoreError> {
        if let Err(error) = self.database.begin() {
            // Another process had the lock; whoever came meanwhile need not wait as long once more.
            while let Some(request) = self.receive(Duration::ZERO) {
                batch.push(request);
            }
            return Err(error.into());
        }
        let outcomes = if self.run_together(batch) {
            batch.iter().map(|_| Ok(())).collect()
        } else {
            // Seldom: once more, each so that it can be undone without the others.
            self.database.roll_back()?;
            self.database.begin()?;
            self.run_apart(batch)?
        };
        let began = Instant::now();
        self.database.commit()?;
        self.last_commit = began.elapsed();
        Ok(outcomes)
    }

    /// Runs requests as they come, until there are no more or the batch is full. False if one fails.
    fn run_together(&mut self, batch: &mut Vec<Box<dyn Request>>) -> bool {
        let began = Instant::now();
        let mut events = 0;
        let mut done = 0;
        loop {
            while let Some(request) = batch.get_mut(done) {
                if request.run(&mut self.database).is_err() {
                    return false;
                }
                events += request.events();
                done += 1;
            }
            if events >= self.options.batch_events {
                return true;
            }
            match self.receive(self.patience(done).saturating_sub(began.elapsed())) {
                Some(request) => batch.push(request),
                None => return true,
            }
        }
    }

    /// How long a batch with so many requests waits for more. Waiting pays only where it saves a sync, for less
    /// than a sync takes, and for as many as came together last time: whoever writes alone does not wait.
    fn patience(&self, requests: usize) -> Duration {
        if self.options.durability == Durability::Process || requests >= self.last_batch {
            Duration::ZERO
        } else {
            self.options.batch_delay.min(self.last_commit)
        }
    }

    fn run_apart(&mut self, batch: &mut [Box<dyn Request>]) -> Result<Outcomes, StoreError> {
        let mut outcomes = Vec::with_capacity(batch.len());
        for request in batch {
            self.database.mark()?;
            let outcome = request.run(&mut self.database);
            if let Err(error) = &outcome {
                if self.database.is_rolled_back() {
                    return Err(error.clone());
                }
                self.database.back_to_mark()?;
            }
            self.database.unmark()?;
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    /// Notes the places of events, while nobody waits for it.
    fn place(&mut self) {
        self.unplaced = 0;
        let placed = self.database.begin().and_then(|()| events::place(&self.database));
        if let Err(error) = placed.and_then(|()| self.database.commit()) {
            tracing::warn!(%error, "the places of new events could not be noted; reading them takes longer");
            let _ = self.database.roll_back(); // it will be tried again
        }
    }

    /// Has the followers read again if another process has committed something.
    fn look_for_foreign_commits(&mut self) {
        self.looked = Instant::now();
        if self.followers.is_empty() {
            return;
        }
        match self.database.data_version() {
            Ok(version) if version == self.data_version => {}
            Ok(version) => {
                self.data_version = version;
                self.followers.changed_elsewhere();
            }
            Err(error) => tracing::warn!(%error, "cannot see whether another process has written events"),
        }
    }
}
