use super::*;

fn item(id: &str) -> ReasoningItem {
    ReasoningItem {
        id: Some(id.to_owned()),
        encrypted_content: Some("gAAA".to_owned()),
        ..ReasoningItem::default()
    }
}

fn placed(id: &str, calls_before: Option<usize>) -> Placed {
    Placed {
        calls_before,
        item: item(id),
    }
}

#[test]
fn a_single_item_at_the_beginning_is_kept_as_it_came() {
    assert_eq!(join(vec![placed("rs_1", None)]), Some(item("rs_1")));
    assert_eq!(join(vec![]), None);
}

#[test]
fn several_items_survive_the_log_with_their_places() {
    let items = || {
        vec![
            placed("rs_1", Some(0)),
            placed("rs_2", Some(0)),
            placed("rs_3", Some(2)),
        ]
    };
    let stored = serde_json::to_string(&join(items()).unwrap()).unwrap();
    assert_eq!(split(&serde_json::from_str(&stored).unwrap()), items());
}

#[test]
fn an_item_goes_back_as_it_came() {
    let wire = json!({
        "type": "reasoning", "id": "rs_1", "summary": [{ "type": "summary_text", "text": "hm" }],
        "encrypted_content": "gAAA", "status": "completed", "new_field": { "a": [1] },
    });
    let mut sent = json!(write(read(&wire)).unwrap());
    sent["type"] = json!("reasoning");
    assert_eq!(sent, wire);
}

#[test]
fn readable_reasoning_goes_back_only_where_there_is_no_other() {
    let content = json!([{ "type": "reasoning_text", "text": "because" }]);
    let open = json!({ "type": "reasoning", "id": "rs_1", "summary": [], "content": content });
    assert_eq!(json!(write(read(&open)).unwrap())["content"], content);

    let mut both = open;
    both["encrypted_content"] = json!("gAAA");
    assert_eq!(json!(write(read(&both)).unwrap()).get("content"), None);
}

#[test]
fn an_item_without_reasoning_does_not_go_back() {
    let empty =
        json!({ "type": "reasoning", "id": "rs_1", "summary": [], "content": [], "encrypted_content": null });
    assert!(write(read(&empty)).is_none());
}
