//! How often somebody may try a wrong key.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::failure::Failure;

/// How long wrong keys are remembered.
const WINDOW: Duration = Duration::from_mins(1);
/// Addresses that are remembered; beyond it all are forgotten.
const MAX_ADDRESSES: usize = 10_000;

/// The wrong keys of the last minute, by where they came from.
pub(crate) struct Guesses {
    /// So many may come from one address within a minute.
    max: u32,
    wrong: Mutex<HashMap<IpAddr, Wrong>>,
}

struct Wrong {
    since: Instant,
    count: u32,
}

impl Guesses {
    pub(crate) fn new(max: u32) -> Self {
        Self {
            max,
            wrong: Mutex::default(),
        }
    }

    /// Whether no key from there is looked at for a while.
    pub(crate) fn are_too_many(&self, from: IpAddr) -> bool {
        let wrong = self.wrong();
        let lately = wrong.get(&from).filter(|wrong| wrong.since.elapsed() < WINDOW);
        lately.is_some_and(|wrong| wrong.count >= self.max)
    }

    /// A wrong key came from there.
    pub(crate) fn note(&self, from: IpAddr) {
        tracing::warn!(%from, "a wrong key was given");
        let mut wrong = self.wrong();
        if wrong.len() >= MAX_ADDRESSES {
            wrong.clear();
        }
        let now = Instant::now();
        let fresh = || Wrong { since: now, count: 0 };
        let lately = wrong.entry(from).or_insert_with(fresh);
        if lately.since.elapsed() >= WINDOW {
            *lately = fresh();
        }
        lately.count += 1;
    }

    /// What somebody is told who has to wait.
    pub(crate) fn refusal() -> Response {
        let mut response = Failure::bare(StatusCode::TOO_MANY_REQUESTS).into_response();
        let headers = response.headers_mut();
        headers.insert(header::RETRY_AFTER, WINDOW.as_secs().into());
        response
    }

    fn wrong(&self) -> MutexGuard<'_, HashMap<IpAddr, Wrong>> {
        self.wrong.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
