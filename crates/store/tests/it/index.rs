//! What the index says.

use std::time::{Duration, UNIX_EPOCH};

use deft_store::{Derived, NewConversation, Store, StoreError};
use deft_types::{ConversationId, Money, Role, Seq, Source, Status};
use deft_types::{Message, MessageEvent};
use serde_json::json;
use uuid::Uuid;

use super::sample::{Sample, event, new, said, state};

#[tokio::test]
async fn rebuilding_from_the_log_equals_the_live_state() {
    let sample = Sample::new();
    let lease = sample.conversation().await;
    let id = lease.conversation();
    let record = sample.store.conversation(id).await.unwrap().unwrap();
    assert_eq!(
        (record.title, record.status, record.cost),
        (None, Status::Idle, Money::ZERO)
    );
    assert_eq!(record.last_seq, None);

    let metrics = |cost: f64| {
        json!({"usage_to_metrics": {
            "agent": {"accumulated_cost": cost}, "condenser": {"accumulated_cost": 0.5}
        }})
    };
    let reply = MessageEvent::new(Message::text(Role::Assistant, "Hello"));
    let appends = [
        vec![event("a", Source::Agent, reply)],
        vec![
            said("b", "  "),
            said("c", "Fix the\n bug"),
            state("d", "execution_status", json!("running")),
        ],
        vec![state("e", "stats", metrics(1.0)), said("f", "And the other")],
        vec![
            state("g", "execution_status", json!("no such")),
            state("h", "stats", json!(7)),
        ],
        vec![
            state("i", "stats", metrics(2.0)),
            state("j", "execution_status", json!("paused")),
        ],
    ];
    for events in appends {
        sample.store.append(&lease, events).await.unwrap();
    }

    let live = sample.store.conversation(id).await.unwrap().unwrap();
    assert_eq!(live.title.as_deref(), Some("Fix the bug"));
    assert_eq!(live.status, Status::Paused);
    assert_eq!(Ok(live.cost), "2.5".parse());
    assert_eq!(live.last_seq, Some(Seq(9)));
    assert!(live.updated_at > live.created_at);

    let mut rebuilt = Derived::default();
    for (_, event) in sample.store.read(id, Seq::FIRST, 99).await.unwrap() {
        rebuilt.fold(&event);
    }
    let expected = Derived {
        title: live.title,
        status: Some(live.status),
        cost: Some(live.cost),
        own_cost: Some(live.cost),
        ..Derived::default()
    };
    assert_eq!(rebuilt, expected);
}

#[tokio::test]
async fn a_title_and_tags_that_were_given_are_in_the_index_whenever_they_come() {
    let sample = Sample::new();
    let lease = sample.conversation().await;
    let id = lease.conversation();
    let titled = async || sample.store.conversation(id).await.unwrap().unwrap();
    let append = async |event| sample.store.append(&lease, vec![event]).await.unwrap();
    append(state("a", "title", json!("Before all"))).await;
    append(said("b", "Fix the bug")).await;
    assert_eq!(titled().await.title.as_deref(), Some("Before all"));
    append(state("c", "title", json!("Renamed"))).await;
    append(state("d", "title", json!(7))).await;
    append(state("e", "tags", json!({"team": "core"}))).await;
    append(state("f", "tags", json!({"team": "web"}))).await;
    let live = titled().await;
    assert_eq!(live.title.as_deref(), Some("Renamed"));
    assert_eq!(json!(live.tags), json!({"team": "web"}));
}

#[tokio::test]
async fn the_list_gives_the_newest_first_and_every_one_once_though_some_share_a_moment() {
    let sample = Sample::new();
    let mut ids = Vec::new();
    for n in 0..25_u64 {
        let id = ConversationId(Uuid::new_v4());
        let created_at = UNIX_EPOCH + Duration::from_secs(1_000 + n / 3);
        sample
            .store
            .create(NewConversation {
                created_at,
                ..new(id)
            })
            .await
            .unwrap();
        ids.push((created_at, id));
    }
    ids.sort();
    ids.reverse();

    let mut listed = Vec::new();
    let mut cursor = None;
    loop {
        let page = sample.store.list(cursor, 10).await.unwrap();
        let Some(last) = page.last() else { break };
        cursor = Some(last.cursor());
        // Going on works even when the conversation we stopped at is gone.
        sample.store.delete(last.id).await.unwrap();
        listed.extend(page.iter().map(|record| (record.created_at, record.id)));
    }
    assert_eq!(listed, ids);
}

#[tokio::test]
async fn ids_are_found_by_how_they_begin_with_or_without_dashes() {
    let sample = Sample::new();
    let parse = |text: &str| text.parse::<ConversationId>().unwrap();
    let first = parse("0123abcd-1111-4000-8000-000000000000");
    let second = parse("0123abcd-2222-4000-8000-000000000000");
    for id in [first, second] {
        sample.store.create(new(id)).await.unwrap();
    }
    for (prefix, expected) in [
        ("0123", vec![first, second]),
        ("0123ABCD-11", vec![first]),
        ("0123abcd2", vec![second]),
        ("0123abcd-2222-4000-8000-000000000000", vec![second]),
        ("4", vec![]),
        ("%", vec![]),
        ("zz", vec![]),
    ] {
        assert_eq!(sample.store.find(prefix).await.unwrap(), expected, "{prefix}");
    }
}

#[tokio::test]
async fn settings_are_kept_as_given_and_go_with_the_conversation() {
    let sample = Sample::new();
    let id = sample.conversation().await.conversation();
    assert_eq!(
        sample.store.settings(id).await.unwrap(),
        Some(json!({"model": "some"}))
    );
    assert_eq!(sample.store.create(new(id)).await, Err(StoreError::Exists(id)));

    sample.store.delete(id).await.unwrap();
    assert_eq!(sample.store.settings(id).await.unwrap(), None);
    assert_eq!(sample.store.conversation(id).await.unwrap(), None);
    assert_eq!(
        sample.store.read(id, Seq::FIRST, 1).await,
        Err(StoreError::NotFound(id))
    );
    assert_eq!(sample.store.delete(id).await, Err(StoreError::NotFound(id)));
}
