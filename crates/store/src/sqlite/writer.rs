//! The one thread that writes: takes what is queued, commits it together, answers everybody.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::flusher::Flusher;
use super::follow::Followers;
use super::request::{Message, QUEUE_LIMIT, Request, Submit};
use super::{Durability, Options};
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
        connection: Connection,
        flusher: Flusher,
        followers: Arc<Followers>,
        options: Options,
    ) -> Result<Self, StoreError> {
        let (queue, messages) = sync_channel(QUEUE_LIMIT + 1);
        let work = Work {
            messages,
            flusher,
            connection,
            followers,
            options,
            stopped: false,
            last_batch: 0,
            last_commit: Duration::ZERO,
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
    // Before the connection, which tidies the file up if it is the last.
    flusher: Flusher,
    connection: Connection,
    followers: Arc<Followers>,
    options: Options,
    stopped: bool,
    /// How many requests the last batch had, and how long it took.
    last_batch: usize,
    last_commit: Duration,
    /// Changes when another connection commits; only ours does so in this process.
    data_version: i64,
    /// When that was last read.
    looked: Instant,
}

impl Work {
    fn run(mut self) {
        while !self.stopped {
            let batch = self.gather();
            if !batch.is_empty() {
                self.last_batch = batch.len();
                let began = Instant::now();
                self.carry_out(batch);
                self.last_commit = began.elapsed();
            }
            if self.looked.elapsed() >= FOREIGN_COMMITS_EVERY {
                self.look_for_foreign_commits();
            }
        }
    }

    /// Takes what is queued, after a while even if that is nothing.
    fn gather(&mut self) -> Vec<Box<dyn Request>> {
        let mut batch = Vec::new();
        let mut events = 0;
        let mut deadline = Instant::now() + FOREIGN_COMMITS_EVERY;
        while events < self.options.batch_events || batch.is_empty() {
            let wait = deadline.saturating_duration_since(Instant::now());
            match self.messages.recv_timeout(wait) {
                Ok(Message::Request(request)) => {
                    events += request.events();
                    batch.push(request);
                }
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    self.stopped = true;
                    break;
                }
                Err(RecvTimeoutError::Timeout) => break,
            }
            // Waiting pays only where it saves a sync, for less than a sync takes, and for as many as came
            // together last time: whoever writes alone does not wait.
            if self.options.durability == Durability::Process || batch.len() >= self.last_batch {
                deadline = Instant::now();
            } else if batch.len() == 1 {
                deadline = Instant::now() + self.options.batch_delay.min(self.last_commit / 2);
            }
        }
        batch
    }

    /// Commits the requests together. One that fails fails alone; if the commit fails, all do.
    fn carry_out(&self, mut batch: Vec<Box<dyn Request>>) {
        match self.commit(&mut batch) {
            Ok(outcomes) => {
                self.flusher.mark_dirty();
                for (request, outcome) in batch.into_iter().zip(outcomes) {
                    request.finish(outcome);
                }
            }
            Err(error) => {
                if !self.connection.is_autocommit() {
                    let _ = self.execute("ROLLBACK"); // fails only where SQLite has rolled back by itself
                }
                for request in batch {
                    request.finish(Err(error.clone()));
                }
            }
        }
    }

    fn commit(&self, batch: &mut [Box<dyn Request>]) -> Result<Vec<Result<(), StoreError>>, StoreError> {
        self.execute("BEGIN IMMEDIATE")?;
        let outcomes = if batch
            .iter_mut()
            .all(|request| request.run(&self.connection).is_ok())
        {
            batch.iter().map(|_| Ok(())).collect()
        } else {
            // Seldom: once more, each so that it can be undone without the others.
            if !self.connection.is_autocommit() {
                self.execute("ROLLBACK")?;
            }
            self.execute("BEGIN IMMEDIATE")?;
            self.run_apart(batch)?
        };
        self.execute("COMMIT")?;
        Ok(outcomes)
    }

    fn run_apart(&self, batch: &mut [Box<dyn Request>]) -> Result<Vec<Result<(), StoreError>>, StoreError> {
        let mut outcomes = Vec::with_capacity(batch.len());
        for request in batch {
            self.execute("SAVEPOINT request")?;
            let outcome = request.run(&self.connection);
            if let Err(error) = &outcome {
                if self.connection.is_autocommit() {
                    return Err(error.clone()); // it was such that SQLite undid everything
                }
                self.execute("ROLLBACK TO request")?;
            }
            self.execute("RELEASE request")?;
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    fn execute(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute([]).map(drop)
    }

    /// Has the followers read again if another process has committed something.
    fn look_for_foreign_commits(&mut self) {
        self.looked = Instant::now();
        if self.followers.is_empty() {
            return;
        }
        let version = self
            .connection
            .pragma_query_value(None, "data_version", |row| row.get(0));
        match version {
            Ok(version) if version == self.data_version => {}
            Ok(version) => {
                self.data_version = version;
                self.followers.changed_elsewhere();
            }
            Err(error) => tracing::warn!(%error, "cannot see whether another process has written events"),
        }
    }
}
