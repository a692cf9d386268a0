//! The shells of a terminal, by name. A call gets the one it names, never another.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex;

use super::session::Session;
use super::setup::Setup;

/// The shell that is meant when none is named.
pub(super) const MAIN: &str = "main";
/// How many shells there may be beside the main one.
const COUNT_LIMIT: usize = 8;
/// How long a name may be.
const NAME_LIMIT: usize = 32;

/// Held for the whole of a call: that is what makes the next one on the same shell wait.
pub(super) type Shared = Arc<Mutex<Session>>;

/// All shells of a terminal.
#[derive(Debug)]
pub(super) struct Shells {
    setup: Setup,
    quiet_limit: Duration,
    open: std::sync::Mutex<BTreeMap<String, Shared>>,
}

impl Shells {
    pub(super) fn new(setup: Setup, quiet_limit: Duration) -> Self {
        Self {
            setup,
            quiet_limit,
            open: std::sync::Mutex::default(),
        }
    }

    /// The shell of that name, new if there is none; or why there cannot be one.
    pub(super) fn named(&self, name: &str) -> Result<Shared, String> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.is_empty() || name.len() > NAME_LIMIT || !name.bytes().all(is_name) {
            return Err(format!(
                "`shell` must be a name of 1 to {NAME_LIMIT} letters, digits, `-`, `_` or `.`. Nothing was run."
            ));
        }
        let mut open = self.open();
        if let Some(shell) = open.get(name) {
            return Ok(Arc::clone(shell));
        }
        let beside = || open.iter().filter(|(name, _)| *name != MAIN);
        if name != MAIN && beside().count() >= COUNT_LIMIT {
            let shells = beside().map(|(name, shell)| {
                let news = news_of(shell).unwrap_or_else(|| "is idle".to_owned());
                format!("`{name}` {news}")
            });
            let shells = shells.collect::<Vec<_>>().join("; ");
            return Err(format!(
                "There are {COUNT_LIMIT} shells beside the main one, which is the limit: {shells}. Nothing was run. Use one of them, or end one with `reset` and an empty `command`."
            ));
        }
        let shell = Arc::new(Mutex::new(Session::new(
            self.setup.for_another(),
            self.quiet_limit,
        )));
        open.insert(name.to_owned(), Arc::clone(&shell));
        Ok(shell)
    }

    /// Frees the place of a shell that is not open, unless a call waits for it.
    pub(super) fn forget(&self, name: &str) {
        let mut open = self.open();
        // One is here, one is the caller's.
        if open.get(name).is_some_and(|shell| Arc::strong_count(shell) <= 2) {
            open.remove(name);
        }
    }

    /// A line about what happens in the shells beside one.
    pub(super) fn told_beside(&self, name: &str) -> Option<String> {
        let open = self.open();
        let others = open.iter().filter(|(other, _)| *other != name);
        let news: Vec<String> = others
            .filter_map(|(other, shell)| Some(format!("`{other}` {}", news_of(shell)?)))
            .collect();
        (!news.is_empty()).then(|| format!("\n[Other shells: {}.]", news.join("; ")))
    }

    /// Ends them all.
    pub(super) async fn close(&self) {
        let shells: Vec<Shared> = self.open().values().cloned().collect();
        for shell in shells {
            shell.lock().await.close().await;
        }
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<String, Shared>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What happens in a shell, without waiting for a call that uses it.
fn news_of(shell: &Shared) -> Option<String> {
    match shell.try_lock() {
        Ok(mut session) => session.news(),
        Err(_) => Some("is used by another call".to_owned()),
    }
}
