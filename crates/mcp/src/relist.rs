//! When a list of tools is looked at again. Each look may become an event of a log, so a list that changes all the time
//! is looked at ever more seldom.

use std::time::Duration;

use tokio::time::Instant;

use crate::limits::{MAX_RELIST_PAUSE, RELIST_PAUSE};

/// The next look at a list.
pub(crate) struct Relist {
    wanted: bool,
    /// Not before.
    next: Instant,
    /// From one look to the next.
    pause: Duration,
}

impl Default for Relist {
    fn default() -> Self {
        Self {
            wanted: false,
            next: Instant::now(),
            pause: RELIST_PAUSE,
        }
    }
}

impl Relist {
    /// The list has changed.
    pub(crate) fn want(&mut self) {
        if Instant::now() > self.next + self.pause {
            self.pause = RELIST_PAUSE; // it was quiet for a while
        }
        self.wanted = true;
    }

    /// Waits until it is time to look, for ever if nothing has changed.
    pub(crate) async fn due(&self) {
        if self.wanted {
            tokio::time::sleep_until(self.next).await;
        } else {
            std::future::pending::<()>().await;
        }
    }

    pub(crate) fn done(&mut self) {
        self.wanted = false;
        self.next = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(MAX_RELIST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_list_that_changes_all_the_time_is_looked_at_ever_more_seldom() {
        let (begun, mut relist) = (Instant::now(), Relist::default());
        for _ in 0..20 {
            relist.want();
            relist.due().await;
            relist.done();
        }
        assert!(begun.elapsed() > MAX_RELIST_PAUSE * 10, "{:?}", begun.elapsed());
        tokio::time::sleep(MAX_RELIST_PAUSE * 3).await;
        relist.want();
        assert_eq!(relist.pause, RELIST_PAUSE);
    }
}
