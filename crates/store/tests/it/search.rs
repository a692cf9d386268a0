//! Conversations and events by what they are, not by where they stand.

use deft_store::{Order, Search, Store, StoreError};
use deft_types::{ConversationId, EventId, Seq, Status};
use serde_json::{Map, json};
use uuid::Uuid;

use super::sample::{Sample, said, state};

#[tokio::test]
async fn conversations_are_found_by_status_in_any_order_from_any_one_on() {
    let sample = Sample::new();
    let mut ids = Vec::new();
    for status in ["finished", "running", "finished"] {
        let lease = sample.conversation().await;
        let events = vec![state("a", "execution_status", json!(status))];
        sample.store.append(&lease, events).await.unwrap();
        ids.push(lease.conversation());
    }
    let search = async |search: Search| {
        let found = sample.store.search(search, 10).await.unwrap();
        found.into_iter().map(|record| record.id).collect::<Vec<_>>()
    };
    let ordered = |order, from| Search {
        order,
        from,
        ..Search::default()
    };
    assert_eq!(search(ordered(Order::Created, None)).await, ids);
    assert_eq!(search(ordered(Order::Updated, None)).await, ids);
    assert_eq!(search(ordered(Order::Created, Some(ids[1]))).await, ids[1..]);
    let newest = search(ordered(Order::CreatedDescending, Some(ids[1]))).await;
    assert_eq!(newest, [ids[1], ids[0]]);
    assert_eq!(search(ordered(Order::UpdatedDescending, None)).await[0], ids[2]);
    let unknown = ConversationId(Uuid::nil());
    assert_eq!(search(ordered(Order::Created, Some(unknown))).await, ids);
    let finished = Search {
        status: Some(Status::Finished),
        ..Search::default()
    };
    assert_eq!(search(finished).await, [ids[2], ids[0]]);
    assert_eq!(sample.store.count(None).await, Ok(3));
    assert_eq!(sample.store.count(Some(Status::Running)).await, Ok(1));
}

#[tokio::test]
async fn an_event_is_found_by_its_id() {
    let sample = Sample::new();
    let lease = sample.conversation().await;
    let id = lease.conversation();
    let events = vec![said("a", "one"), said("b", "two")];
    sample.store.append(&lease, events).await.unwrap();
    let position = async |event: &str| sample.store.position(id, &EventId::from(event)).await;
    assert_eq!(position("b").await, Ok(Some(Seq(1))));
    assert_eq!(position("c").await, Ok(None));
}

#[tokio::test]
async fn settings_are_changed_field_by_field() {
    let sample = Sample::new();
    let lease = sample.conversation().await;
    let id = lease.conversation();
    let change = async |id, name: &str, value: &str| {
        let fields = Map::from_iter([(name.to_owned(), json!(value))]);
        sample.store.change_settings(id, fields).await
    };
    change(id, "title", "one").await.unwrap();
    change(id, "tags", "two").await.unwrap();
    change(id, "title", "three").await.unwrap();
    let settings = sample.store.settings(id).await.unwrap().unwrap();
    assert_eq!(
        (&settings["title"], &settings["tags"]),
        (&json!("three"), &json!("two"))
    );
    let unknown = ConversationId(Uuid::nil());
    assert_eq!(
        change(unknown, "title", "x").await,
        Err(StoreError::NotFound(unknown))
    );
}
