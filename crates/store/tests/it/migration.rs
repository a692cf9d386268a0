//! Files of earlier versions.

use deft_store::{EventFilter, Owner, Store, StoreError};
use deft_types::{EventId, Seq};

use super::sample::{Sample, create, message, open};

/// From the present schema back to version 1, which kept each log together.
const BACK_TO_1: &str = "
    CREATE TABLE logs (
        place INTEGER PRIMARY KEY,
        id TEXT NOT NULL,
        event TEXT NOT NULL
    ) STRICT;
    INSERT INTO logs SELECT conversation << 36 | seq, id, event FROM events;
    DROP TABLE events;
    DROP TABLE places;
    DROP TABLE placed;
    DROP TABLE documents;
    DROP TABLE facets;
    DROP INDEX conversations_by_owner;
    ALTER TABLE conversations DROP COLUMN owner;
    ALTER TABLE conversations DROP COLUMN tags;
    ALTER TABLE conversations DROP COLUMN own_cost;
    ALTER TABLE logs RENAME TO events;
    CREATE UNIQUE INDEX events_by_id ON events (place >> 36, id);
    DROP TABLE spent;
    PRAGMA user_version = 1;
";

/// A title that somebody gave was kept among the settings of a conversation.
const TITLED: &str = r#"UPDATE settings SET settings = '{"title": "Given"}' WHERE conversation = 1"#;

#[tokio::test]
async fn a_store_of_version_1_is_taken_over_whole_and_written_on() {
    let sample = Sample::new();
    let empty = create(&sample.store).await;
    let leases = [sample.conversation().await, sample.conversation().await];
    for n in 0..3 {
        for lease in &leases {
            let event = message(&n.to_string());
            sample.store.append(lease, vec![event]).await.unwrap();
        }
    }
    let ids = leases.map(|lease| lease.conversation());
    let raw = sample.raw();
    let (path, _directory) = sample.close();
    raw.execute_batch(BACK_TO_1).unwrap();
    raw.execute_batch(TITLED).unwrap();
    drop(raw);

    let store = open(&path);
    assert_eq!(store.read(empty, Seq::FIRST, 9).await.unwrap(), []);
    let titled = store.conversation(empty).await.unwrap().unwrap();
    assert_eq!(titled.title.as_deref(), Some("Given"));
    for id in ids {
        let log = store.read(id, Seq::FIRST, 9).await.unwrap();
        let expected: Vec<_> = (0..3).map(|n| (Seq(n), message(&n.to_string()))).collect();
        assert_eq!(log, expected);
        let messages = EventFilter {
            kind: Some("MessageEvent".to_owned()),
            from: Some(log[0].1.timestamp.clone()),
            ..EventFilter::default()
        };
        assert_eq!(
            store.count_events(id, messages).await,
            Ok(3),
            "older events can be found too"
        );
        let lease = store.acquire(id, &Owner::this_process()).await.unwrap();
        assert_eq!(
            store.append(&lease, vec![message("1")]).await,
            Err(StoreError::Duplicate {
                id: EventId::from("1"),
                seq: Seq(1)
            })
        );
        assert_eq!(store.append(&lease, vec![message("3")]).await, Ok(Seq(3)..Seq(4)));
        assert_eq!(store.read(id, Seq(2), 9).await.unwrap().len(), 2);
    }
}
