//! Small texts that are kept beside the logs.

use std::sync::Arc;

use deft_store::{Kept, KeyOrder, Options, SqliteStore, Store as _};
use deft_types::ConversationId;

#[tokio::test]
async fn a_document_is_replaced_only_by_who_knows_what_it_says() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("deft.db"), Options::default()).unwrap();
    let text = |text: &str| Some(text.to_owned());
    let swap = async |from: Option<String>, to: Option<String>| {
        store.swap_document("a/1".to_owned(), from, to).await.unwrap()
    };
    assert!(swap(None, text("one")).await);
    assert!(!swap(None, text("two")).await, "somebody was faster");
    assert!(!swap(text("other"), None).await);
    assert_eq!(store.document("a/1").await.unwrap(), text("one"));
    assert!(swap(text("one"), text("two")).await);
    assert!(
        store
            .swap_document("a/2".to_owned(), None, text("x"))
            .await
            .unwrap()
    );
    assert!(
        store
            .swap_document("b/1".to_owned(), None, text("y"))
            .await
            .unwrap()
    );
    let found = store.documents("a/").await.unwrap();
    let expected = [("a/1", "two"), ("a/2", "x")].map(|(key, text)| (key.to_owned(), text.to_owned()));
    assert_eq!(found, expected);
    assert!(swap(text("two"), None).await);
    assert_eq!(store.document("a/1").await.unwrap(), None);
}

#[tokio::test]
async fn documents_are_given_page_by_page_in_both_orders() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("deft.db"), Options::default()).unwrap();
    for key in ["a/1", "a/2", "a/3", "b/1"] {
        let text = Some("x".to_owned());
        assert!(store.swap_document(key.to_owned(), None, text).await.unwrap());
    }
    let keys = async |beyond, order, limit| -> Vec<String> {
        let page = store.documents_page("a/", beyond, order, limit).await.unwrap();
        page.into_iter().map(|(key, _)| key).collect()
    };
    assert_eq!(keys(None, KeyOrder::Ascending, 2).await, ["a/1", "a/2"]);
    assert_eq!(keys(Some("a/2"), KeyOrder::Ascending, 2).await, ["a/3"]);
    assert_eq!(keys(None, KeyOrder::Descending, 2).await, ["a/3", "a/2"]);
    assert_eq!(keys(Some("a/2"), KeyOrder::Descending, 2).await, ["a/1"]);
    assert_eq!(store.count_documents("a/").await.unwrap(), 3);
}

#[tokio::test]
async fn all_texts_are_rewritten_together_and_those_that_stay_are_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("deft.db"), Options::default()).unwrap();
    for key in ["a", "b"] {
        let text = Some(format!("text of {key}"));
        assert!(store.swap_document(key.to_owned(), None, text).await.unwrap());
    }
    let new = super::sample::new(ConversationId(uuid::Uuid::new_v4()));
    let id = new.id;
    store.create(new).await.unwrap();
    let edit = move |kept: Kept<'_>| match kept {
        Kept::Document { key, text } => (key == "b").then(|| text.to_uppercase()),
        Kept::Settings { conversation, .. } => (conversation == id).then(|| r#"{"new": true}"#.to_owned()),
    };
    assert_eq!(store.rewrite(Arc::new(edit)).await.unwrap(), 2);
    assert_eq!(store.document("a").await.unwrap().as_deref(), Some("text of a"));
    assert_eq!(store.document("b").await.unwrap().as_deref(), Some("TEXT OF B"));
    assert_eq!(store.settings(id).await.unwrap().unwrap()["new"], true);
}

/// From the present schema back to the last version without documents.
const BACK_TO_2: &str = "
    DROP TABLE documents;
    DROP TABLE facets;
    ALTER TABLE events DROP COLUMN facet;
    ALTER TABLE events DROP COLUMN at;
    ALTER TABLE places DROP COLUMN facet;
    ALTER TABLE places DROP COLUMN at;
    DROP INDEX conversations_by_owner;
    ALTER TABLE conversations DROP COLUMN owner;
    ALTER TABLE conversations DROP COLUMN tags;
    ALTER TABLE conversations DROP COLUMN own_cost;
    DROP TABLE spent;
    PRAGMA user_version = 2;
";

#[tokio::test]
async fn a_file_of_the_first_version_gets_its_documents() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deft.db");
    drop(SqliteStore::open(&path, Options::default()).unwrap());
    {
        let file = rusqlite::Connection::open(&path).unwrap();
        file.execute_batch(BACK_TO_2).unwrap();
    }
    let store = SqliteStore::open(&path, Options::default()).unwrap();
    assert_eq!(store.document("a").await.unwrap(), None);
}
