//! Conversations and events by what they are, not by where they stand.

use deft_store::{
    Direction, EventFilter, NewConversation, Order, Search, Store, StoreError, Usage, create_with,
};
use deft_types::{ConversationId, Event, EventId, Money, Seq, Source, Status, Timestamp, UserId};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::sample::{Sample, message, new, said, state};

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
    assert_eq!(sample.store.count(None, None).await, Ok(3));
    assert_eq!(sample.store.count(None, Some(Status::Running)).await, Ok(1));
}

#[tokio::test]
async fn conversations_are_found_by_what_was_said_in_them() {
    let sample = Sample::new();
    let finish = json!({
        "id": "f", "timestamp": "2026-11-15T01:14:49.212782", "source": "agent", "kind": "ActionEvent",
        "thought": [], "tool_name": "finish", "tool_call_id": "c", "llm_response_id": "r", "security_risk": "LOW",
        "tool_call": {"id": "c", "name": "finish", "arguments": "{}", "origin": "completion"},
        "action": {"kind": "FinishAction", "message": "The \"Äpfel\" are counted."},
    });
    let finish: Event = serde_json::from_value(finish).unwrap();
    let logs = [
        vec![said("a", "Mend the login page"), said("b", "and the footer")],
        vec![said("a", "Count them"), finish],
        vec![state("a", "title", json!("the login page"))],
    ];
    let mut ids = Vec::new();
    for events in logs {
        let lease = sample.conversation().await;
        sample.store.append(&lease, events).await.unwrap();
        ids.push(lease.conversation());
    }
    let find = async |words: &str, limit| {
        let words = words.split_whitespace().map(str::to_owned).collect();
        let search = Search {
            order: Order::Created,
            ..Search::default()
        };
        let page = sample.store.search_said(words, search, limit).await.unwrap();
        page.found.into_iter().map(|record| record.id).collect::<Vec<_>>()
    };
    assert_eq!(find("LOGIN mend", 10).await, ids[..1]);
    assert_eq!(find("login footer", 10).await, [], "in one message");
    assert_eq!(
        find("\"äpfel\"", 10).await,
        ids[1..2],
        "what it said when it finished"
    );
    assert_eq!(find("the", 1).await, ids[..1]);
    assert_eq!(find("the", 10).await, ids[..2]);
    assert_eq!(
        find("llm_message", 10).await,
        [],
        "only what was said is looked at"
    );
}

#[tokio::test]
async fn a_search_for_words_is_gone_on_with_until_all_were_looked_at() {
    let sample = Sample::new();
    let mut ids = Vec::new();
    for number in 0..120 {
        let lease = sample.conversation().await;
        let text = if number % 40 == 0 { "a needle" } else { "hay" };
        sample.store.append(&lease, vec![said("a", text)]).await.unwrap();
        ids.push(lease.conversation());
    }
    let (mut found, mut from, mut pages) = (Vec::new(), None, 0);
    loop {
        let search = Search {
            order: Order::Created,
            from,
            ..Search::default()
        };
        let words = vec!["needle".to_owned()];
        let page = sample.store.search_said(words, search, 2).await.unwrap();
        assert!(page.found.len() <= 2);
        found.extend(page.found.into_iter().map(|record| record.id));
        pages += 1;
        match page.next {
            Some(next) => from = Some(next),
            None => break,
        }
    }
    assert_eq!(found, [ids[0], ids[40], ids[80]]);
    assert_eq!(pages, 2);
}

#[tokio::test]
async fn each_user_has_conversations_of_their_own() {
    let sample = Sample::new();
    let [ann, bob] = [UserId(Uuid::new_v4()), UserId(Uuid::new_v4())];
    let create = async |owner: Option<UserId>, workspace: &str| {
        let id = ConversationId(Uuid::new_v4());
        let workspace = workspace.to_owned();
        let new = NewConversation {
            owner,
            workspace,
            ..new(id)
        };
        sample.store.create(new).await.unwrap();
        id
    };
    let nobodys = create(None, "/a").await;
    let anns = [create(Some(ann), "/a").await, create(Some(ann), "/a").await];
    let search = async |owner: Option<UserId>| {
        let search = Search {
            owner,
            order: Order::Created,
            ..Search::default()
        };
        let found = sample.store.search(search, 10).await.unwrap();
        assert!(found.iter().all(|record| record.owner == owner));
        found.into_iter().map(|record| record.id).collect::<Vec<_>>()
    };
    assert_eq!(search(None).await, [nobodys]);
    assert_eq!(search(Some(ann)).await, anns);
    assert_eq!(search(Some(bob)).await, []);
    assert_eq!(sample.store.count(Some(ann), None).await, Ok(2));
    assert_eq!(sample.store.count(Some(ann), Some(Status::Running)).await, Ok(0));
    let usage = sample.store.usage(ann).await.unwrap();
    assert_eq!(
        (usage.conversations, usage.workspaces, usage.cost),
        (2, 1, Money::default())
    );
    assert_eq!(sample.store.usage(bob).await, Ok(Usage::default()));
}

#[tokio::test]
async fn a_user_pays_for_each_call_once_whoever_else_counts_it() {
    let sample = Sample::new();
    let payer = UserId(Uuid::new_v4());
    let spent = async || sample.store.usage(payer).await.unwrap().cost.to_string();
    let begin = async |stats: Value| {
        let id = ConversationId(Uuid::new_v4());
        let owner = Some(payer);
        let events = vec![state("s", "stats", stats)];
        create_with(&sample.store, NewConversation { owner, ..new(id) }, events)
            .await
            .unwrap();
        id
    };
    let used = |cost: f64| json!({"accumulated_cost": cost});
    let parent = json!({"usage_to_metrics": {"agent": used(1.0), "task:task_1": used(0.25), "task:task_1:condenser": used(0.25)}});
    let parent = begin(parent).await;
    assert_eq!(spent().await, "$1.00", "those below pay themselves");
    begin(json!({"usage_to_metrics": {"agent": used(0.25), "condenser": used(0.25)}})).await;
    assert_eq!(spent().await, "$1.50");
    let copy =
        json!({"usage_to_metrics": {"agent": used(3.0), "task:task_1": used(0.5)}, "inherited_cost": 1.0});
    let copy = begin(copy).await;
    assert_eq!(spent().await, "$3.50", "what the other had spent is paid");
    let record = sample.store.conversation(copy).await.unwrap().unwrap();
    assert_eq!(record.cost.to_string(), "$3.50");
    for gone in [parent, copy] {
        sample.store.delete(gone).await.unwrap();
    }
    assert_eq!(spent().await, "$3.50", "it stays spent");
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

async fn found(
    sample: &Sample,
    id: ConversationId,
    filter: EventFilter,
    direction: Direction,
    first: Option<Seq>,
) -> Vec<u64> {
    let found = sample.store.find_events(id, filter, direction, first, 3).await;
    found.unwrap().into_iter().map(|(seq, _)| seq.0).collect()
}

#[tokio::test]
async fn events_are_found_and_counted_by_what_they_are() {
    let sample = Sample::new();
    let lease = sample.conversation().await;
    let id = lease.conversation();
    let other = sample.conversation().await;
    // More than are noted late, so that both kinds of places are tried.
    for n in 0..300_u64 {
        let mut said = said(&format!("m{n}"), "hi");
        said.timestamp = Timestamp(format!("2026-11-15T01:{:02}:{:02}.000000", n / 60, n % 60));
        let own = state(&format!("o{n}"), "executor", json!("x"));
        let shown = state(&format!("s{n}"), "execution_status", json!("running"));
        sample.store.append(&lease, vec![said, own, shown]).await.unwrap();
        sample
            .store
            .append(&other, vec![message(&n.to_string())])
            .await
            .unwrap();
    }
    let all = || EventFilter {
        without_keys: &["executor"],
        ..EventFilter::default()
    };
    let kind = |kind: &str| EventFilter {
        kind: Some(kind.to_owned()),
        ..all()
    };
    let count = async |filter| sample.store.count_events(id, filter).await.unwrap();
    assert_eq!(count(all()).await, 600);
    assert_eq!(count(EventFilter::default()).await, 900);
    assert_eq!(count(kind("MessageEvent")).await, 300);
    assert_eq!(count(kind("NoSuchEvent")).await, 0);
    let users = EventFilter {
        source: Some(Source::User),
        from: Some(Timestamp("2026-11-15T01:04:58.000000".to_owned())),
        ..all()
    };
    assert_eq!(count(users.clone()).await, 2);
    assert_eq!(
        found(&sample, id, users, Direction::Forward, None).await,
        [894, 897]
    );
    let early = EventFilter {
        before: Some(Timestamp("2026-11-15T01:00:02.000000".to_owned())),
        ..kind("MessageEvent")
    };
    assert_eq!(found(&sample, id, early, Direction::Backward, None).await, [3, 0]);
    assert_eq!(
        found(&sample, id, all(), Direction::Forward, Some(Seq(1))).await,
        [2, 3, 5]
    );
    assert_eq!(
        found(&sample, id, all(), Direction::Backward, Some(Seq(898))).await,
        [897, 896, 894]
    );
    let newest = found(&sample, id, kind("MessageEvent"), Direction::Backward, None).await;
    assert_eq!(newest, [897, 894, 891]);
}
