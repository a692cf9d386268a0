//! Appending and reading.

use std::collections::BTreeSet;
use std::ops::Range;

use deft_store::{DAMAGED_EVENT, Durability, Lease, Options, Store, StoreError};
use deft_types::{EventBody, EventId, Seq, Source};
use futures::future::join_all;

use super::sample::{Sample, message, new, open, said};

#[tokio::test]
async fn events_come_back_as_they_were_in_order_and_in_pages() {
    let sample = Sample::new();
    let lease = sample.conversation().await;
    let id = lease.conversation();
    let events: Vec<_> = (0..10)
        .map(|n| said(&format!("e{n}"), "Grüße \u{0} \"\\ 🙂"))
        .collect();

    let range = sample.store.append(&lease, events[..4].to_vec()).await.unwrap();
    assert_eq!(range, Seq(0)..Seq(4));
    let range = sample.store.append(&lease, events[4..].to_vec()).await.unwrap();
    assert_eq!(range, Seq(4)..Seq(10));
    assert_eq!(
        sample.store.append(&lease, vec![]).await.unwrap(),
        Seq(10)..Seq(10)
    );

    let page = sample.store.read(id, Seq(3), 4).await.unwrap();
    let expected: Vec<_> = (3..7).map(|n| (Seq(n as u64), events[n].clone())).collect();
    assert_eq!(page, expected);
    assert_eq!(sample.store.read(id, Seq(10), 4).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_parallel_conversations_have_dense_logs() {
    for durability in [Durability::Process, Durability::Fsync] {
        let sample = Sample::with(Options {
            durability,
            batch_events: 8,
            ..Options::default()
        });
        let leases = join_all((0..16).map(|_| sample.conversation())).await;
        join_all(leases.iter().map(|lease| async {
            for n in 0..25 {
                let events = vec![message(&format!("{n}a")), message(&format!("{n}b"))];
                let range = sample.store.append(lease, events).await.unwrap();
                assert_eq!(range.start, Seq(2 * n));
            }
        }))
        .await;
        for lease in &leases {
            let log = sample
                .store
                .read(lease.conversation(), Seq::FIRST, 1000)
                .await
                .unwrap();
            let seqs: Vec<_> = log.iter().map(|(seq, _)| seq.0).collect();
            assert_eq!(seqs, (0..50).collect::<Vec<_>>());
            let ids: BTreeSet<_> = log.iter().map(|(_, event)| &event.id).collect();
            assert_eq!(ids.len(), 50);
        }
    }
}

#[tokio::test]
async fn logs_written_in_turns_are_read_whole_from_anywhere_also_after_one_is_deleted() {
    let sample = Sample::new();
    let leases = join_all((0..3).map(|_| sample.conversation())).await;
    let append = async |lease: &Lease, numbers: Range<u64>| {
        let events = numbers.map(|n| message(&n.to_string())).collect();
        sample.store.append(lease, events).await.unwrap();
    };
    let check = async |lease: &Lease, length: u64| {
        for from in [0, 1, 511, 512, 699, length - 1, length] {
            let page = sample
                .store
                .read(lease.conversation(), Seq(from), 300)
                .await
                .unwrap();
            let seqs: Vec<_> = page.iter().map(|(seq, _)| seq.0).collect();
            let expected: Vec<_> = (from..length).take(300).collect();
            assert_eq!(seqs, expected, "from {from} of {length}");
            assert!(page.iter().all(|(seq, event)| event.id.0 == seq.to_string()));
        }
    };
    // More than are looked through, in portions that do not fit into it.
    for first in (0..700).step_by(70) {
        for lease in &leases {
            append(lease, first..first + 70).await;
        }
    }
    for lease in &leases {
        check(lease, 700).await;
    }
    // The deleted one has the last events.
    sample.store.delete(leases[2].conversation()).await.unwrap();
    for lease in &leases[..2] {
        append(lease, 700..703).await;
        check(lease, 703).await;
        append(lease, 703..1400).await;
        check(lease, 1400).await;
    }
}

#[tokio::test]
async fn a_log_that_another_process_deleted_takes_no_more() {
    let sample = Sample::new();
    let lease = sample.conversation().await;
    let id = lease.conversation();
    sample.store.append(&lease, vec![message("a")]).await.unwrap();
    sample.another().delete(id).await.unwrap();
    assert_eq!(
        sample.store.append(&lease, vec![message("b")]).await,
        Err(StoreError::NotFound(id))
    );
}

#[tokio::test]
async fn an_event_that_is_there_already_is_named_with_its_place_and_nothing_is_written() {
    let sample = Sample::new();
    let lease = sample.conversation().await;
    sample
        .store
        .append(&lease, vec![message("a"), message("b")])
        .await
        .unwrap();

    let again = sample
        .store
        .append(&lease, vec![message("c"), message("b")])
        .await;
    assert_eq!(
        again,
        Err(StoreError::Duplicate {
            id: EventId::from("b"),
            seq: Seq(1)
        })
    );
    let twice_in_one = sample
        .store
        .append(&lease, vec![message("d"), message("d")])
        .await;
    assert_eq!(
        twice_in_one,
        Err(StoreError::Duplicate {
            id: EventId::from("d"),
            seq: Seq(2)
        })
    );

    assert_eq!(
        sample.store.append(&lease, vec![message("c")]).await,
        Ok(Seq(2)..Seq(3))
    );
    assert_eq!(
        sample
            .store
            .read(lease.conversation(), Seq::FIRST, 9)
            .await
            .unwrap()
            .len(),
        3
    );
}

#[tokio::test]
async fn a_request_that_fails_fails_alone_though_it_shares_a_commit() {
    let sample = Sample::new();
    let good = sample.conversation().await;
    let bad = sample.conversation().await;
    let gone = sample.conversation().await;
    sample.store.append(&bad, vec![message("there")]).await.unwrap();
    sample.store.delete(gone.conversation()).await.unwrap();

    // While somebody else holds the write lock, everything gathers in the queue.
    let raw = sample.raw();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    let taken = new(good.conversation());
    let (one, again, two, three, four, five, ()) = futures::join!(
        sample.store.append(&good, vec![message("1")]),
        sample.store.append(&bad, vec![message("there")]),
        sample.store.append(&bad, vec![message("new"), message("there")]),
        sample.store.append(&gone, vec![message("2")]),
        sample.store.create(taken),
        sample.store.append(&good, vec![message("3")]),
        async { raw.execute_batch("COMMIT").unwrap() },
    );
    assert_eq!(one, Ok(Seq(0)..Seq(1)));
    let duplicate = StoreError::Duplicate {
        id: EventId::from("there"),
        seq: Seq(0),
    };
    assert_eq!((again, two), (Err(duplicate.clone()), Err(duplicate)));
    assert_eq!(three, Err(StoreError::NotFound(gone.conversation())));
    assert_eq!(four, Err(StoreError::Exists(good.conversation())));
    assert_eq!(five, Ok(Seq(1)..Seq(2)));
    assert_eq!(
        sample.store.append(&bad, vec![message("new")]).await,
        Ok(Seq(1)..Seq(2))
    );
}

#[tokio::test]
async fn a_damaged_event_keeps_its_place_and_stops_nothing() {
    let sample = Sample::new();
    let lease = sample.conversation().await;
    let id = lease.conversation();
    let events: Vec<_> = ["a", "b", "c", "d", "e"].map(message).into();
    sample.store.append(&lease, events.clone()).await.unwrap();
    sample
        .raw()
        .execute_batch(
            "UPDATE events SET event = substr(event, 1, 40) WHERE id = 'b';
             UPDATE events SET event = CAST(x'fffe00' AS TEXT) WHERE id = 'c';
             UPDATE events SET event = '{\"kind\": \"MessageEvent\"}' WHERE id = 'e';",
        )
        .unwrap();

    let log = sample.store.read(id, Seq::FIRST, 9).await.unwrap();
    assert_eq!(
        log.iter().map(|(seq, _)| seq.0).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4]
    );
    assert_eq!(log[0].1, events[0]);
    assert_eq!(log[3].1, events[3]);
    for (n, name) in [(1, "b"), (2, "c"), (4, "e")] {
        let event = &log[n].1;
        assert_eq!(event.id, EventId::from(name));
        assert_eq!(event.kind(), DAMAGED_EVENT);
        assert_eq!(event.source, Source::Environment);
        assert_eq!(event.timestamp, events[0].timestamp);
        let EventBody::Unknown(body) = &event.body else {
            panic!("{event:?}")
        };
        assert!(body.fields.contains_key("detail"));
    }
    assert_eq!(
        sample.store.append(&lease, vec![message("f")]).await,
        Ok(Seq(5)..Seq(6))
    );
}

#[tokio::test]
async fn what_was_written_is_there_when_the_file_is_opened_again() {
    let sample = Sample::new();
    let lease = sample.conversation().await;
    sample.store.append(&lease, vec![message("a")]).await.unwrap();
    let id = lease.conversation();
    sample.store.sync().await.unwrap();
    let record = sample.store.conversation(id).await.unwrap();
    let log = sample.store.read(id, Seq::FIRST, 9).await.unwrap();
    let (path, _directory) = sample.close();

    let again = open(&path);
    assert_eq!(again.conversation(id).await.unwrap(), record);
    assert_eq!(again.read(id, Seq::FIRST, 9).await.unwrap(), log);
}
