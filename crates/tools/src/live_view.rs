//! What the browser of a workspace shows right now, for people who watch.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{Notify, watch};

/// Pictures (JPEG), one after the other. They are made only while somebody looks, the last one is all that is kept, and
/// whoever is slow misses some. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct LiveView(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// None: there is nothing to see.
    picture: watch::Sender<Option<Bytes>>,
    looked: Notify,
}

impl LiveView {
    /// Looks for as long as the receiver lives.
    pub fn look(&self) -> watch::Receiver<Option<Bytes>> {
        let receiver = self.0.picture.subscribe();
        self.0.looked.notify_waiters();
        receiver
    }

    /// Shows a picture, or that there is nothing to see.
    pub fn show(&self, picture: Option<Bytes>) {
        self.0.picture.send_replace(picture);
    }

    /// Waits until somebody looks.
    pub async fn watched(&self) {
        loop {
            let looked = self.0.looked.notified();
            if !self.0.picture.is_closed() {
                return;
            }
            looked.await;
        }
    }

    /// Waits until nobody looks any more.
    pub async fn unwatched(&self) {
        self.0.picture.closed().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    #[tokio::test]
    async fn it_is_watched_while_somebody_looks() {
        let view = LiveView::default();
        assert!(view.watched().now_or_never().is_none());
        let waiting = tokio::spawn({
            let view = view.clone();
            async move { view.watched().await }
        });
        tokio::task::yield_now().await;
        let mut looking = view.look();
        waiting.await.unwrap();
        view.show(Some(Bytes::from_static(b"one")));
        view.show(Some(Bytes::from_static(b"two")));
        looking.changed().await.unwrap();
        assert_eq!(looking.borrow_and_update().as_deref(), Some(&b"two"[..]));
        assert!(view.unwatched().now_or_never().is_none());
        drop(looking);
        view.unwatched().await;
    }
}
