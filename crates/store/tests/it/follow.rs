//! Following a log.

use std::sync::Arc;
use std::time::Duration;

use deft_store::{EventStream, Lease, Store, StoreError};
use deft_types::{ConversationId, Event, Seq};
use futures::future::{join, join_all};
use futures::{FutureExt, StreamExt};
use tokio::time::timeout;
use uuid::Uuid;

use super::sample::{Sample, message};

/// Far more than any of this takes.
const PATIENCE: Duration = Duration::from_mins(1);

async fn next(stream: &mut EventStream) -> Option<(Seq, Arc<Event>)> {
    timeout(PATIENCE, stream.next())
        .await
        .expect("an event in time")
        .map(Result::unwrap)
}

async fn expect(stream: &mut EventStream, seqs: std::ops::Range<u64>) {
    for n in seqs {
        let (seq, event) = next(stream).await.unwrap();
        assert_eq!((seq, &*event), (Seq(n), &message(&n.to_string())));
    }
}

async fn append(sample: &Sample, lease: &Lease, numbers: std::ops::Range<u64>) {
    let events = numbers.map(|n| message(&n.to_string())).collect();
    sample.store.append(lease, events).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn followers_get_every_event_once_in_order_while_others_write() {
    let sample = Sample::new();
    let leases = join_all((0..8).map(|_| sample.conversation())).await;
    let writing = join_all(leases.iter().map(|lease| async {
        for n in 0..100 {
            append(&sample, lease, 3 * n..3 * n + 3).await;
        }
    }));
    let following = join_all(leases.iter().flat_map(|lease| {
        [0, 1, 7, 299].map(|from| {
            let mut stream = sample.store.follow(lease.conversation(), Seq(from));
            async move { expect(&mut stream, from..300).await }
        })
    }));
    join(writing, following).await;
}

#[tokio::test]
async fn a_slow_follower_holds_nobody_up_and_misses_nothing() {
    let sample = Sample::new();
    let lease = sample.conversation().await;
    let mut slow = sample.store.follow(lease.conversation(), Seq::FIRST);
    append(&sample, &lease, 0..2).await;
    expect(&mut slow, 0..2).await;
    for n in 0..20 {
        append(&sample, &lease, 2 + n * 100..102 + n * 100).await;
    }
    expect(&mut slow, 2..2002).await;
    append(&sample, &lease, 2002..2003).await;
    expect(&mut slow, 2002..2003).await;
}

#[tokio::test]
async fn followers_that_do_something_else_while_they_wait_to_read_hold_nobody_up() {
    let sample = Sample::new();
    let lease = sample.conversation().await;
    let id = lease.conversation();
    append(&sample, &lease, 0..1).await;
    let mut idle: Vec<_> = (0..32).map(|_| sample.store.follow(id, Seq::FIRST)).collect();
    for stream in &mut idle {
        assert!(stream.next().now_or_never().is_none(), "it has to read first");
    }
    let reading = timeout(PATIENCE, sample.store.read(id, Seq::FIRST, 1)).await;
    assert_eq!(reading.expect("a page in time").unwrap().len(), 1);
    for stream in &mut idle {
        expect(stream, 0..1).await;
    }
}

#[tokio::test]
async fn a_follower_sees_what_another_process_writes() {
    let sample = Sample::new();
    let lease = sample.conversation().await;
    let watcher = sample.another();
    let mut stream = watcher.follow(lease.conversation(), Seq::FIRST);
    for n in 0..3 {
        append(&sample, &lease, n..n + 1).await;
        expect(&mut stream, n..n + 1).await;
    }
}

#[tokio::test]
async fn a_stream_ends_with_its_conversation_and_with_its_store() {
    let sample = Sample::new();
    let (deleted, kept) = (sample.conversation().await, sample.conversation().await);
    append(&sample, &deleted, 0..1).await;
    let mut first = sample.store.follow(deleted.conversation(), Seq::FIRST);
    let mut second = sample.store.follow(kept.conversation(), Seq::FIRST);
    expect(&mut first, 0..1).await;
    sample.store.delete(deleted.conversation()).await.unwrap();
    assert_eq!(next(&mut first).await, None);

    append(&sample, &kept, 0..1).await;
    expect(&mut second, 0..1).await;
    drop(sample);
    assert_eq!(next(&mut second).await, None);
}

#[tokio::test]
async fn following_an_unknown_conversation_says_so() {
    let sample = Sample::new();
    let id = ConversationId(Uuid::nil());
    let mut stream = sample.store.follow(id, Seq::FIRST);
    assert_eq!(
        stream.next().await.unwrap().unwrap_err(),
        StoreError::NotFound(id)
    );
    assert!(stream.next().await.is_none());
}
