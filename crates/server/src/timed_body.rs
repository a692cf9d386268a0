//! The body of a request, which must not stand still for long.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::BoxError;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

use crate::lingering::Unread;

/// The client stopped in the middle of a body.
#[derive(Debug, thiserror::Error)]
#[error("the client stopped in the middle of the body")]
pub(crate) struct Stalled;

impl Stalled {
    /// Whether this is what an error comes from.
    pub(crate) fn caused(error: &(dyn std::error::Error + 'static)) -> bool {
        error.is::<Self>() || error.source().is_some_and(Self::caused)
    }
}

/// See the module.
pub(crate) struct TimedBody<B: Body> {
    body: B,
    limit: Duration,
    /// Whom to tell if it is given up before its end.
    unread: Unread,
    is_at_end: bool,
    /// How long the next piece may take, while one is waited for.
    waits: Option<Pin<Box<Sleep>>>,
}

impl<B: Body> TimedBody<B> {
    pub(crate) fn new(body: B, limit: Duration, unread: Unread) -> Self {
        Self {
            body,
            limit,
            unread,
            is_at_end: false,
            waits: None,
        }
    }
}

impl<B> Body for TimedBody<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) {
            this.waits = None;
            this.is_at_end = frame.is_none();
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let limit = this.limit;
        let waits = this
            .waits
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        ready!(waits.as_mut().poll(context));
        Poll::Ready(Some(Err(Stalled.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B: Body> Drop for TimedBody<B> {
    fn drop(&mut self) {
        if !self.is_at_end && !self.body.is_end_stream() {
            self.unread.set();
        }
    }
}
