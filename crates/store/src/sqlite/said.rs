//! The statement that looks for words in what was said: the messages of user and agent, and what the agent said when it
//! finished. There is no index of words, which each append would have to write: so all messages, and all actions to find those
//! that finish, are read of as many conversations as are looked through.

use deft_types::ConversationId;
use rusqlite::Connection;
use serde_json::Value;

use crate::error::StoreError;
use crate::record::{ConversationRecord, Search};

/// How many conversations are looked through: so that a search ends, however many there are.
const LOOKED_THROUGH: usize = 500;

/// Those that fit, and in which all the words stand in one message.
pub(super) fn search(
    connection: &Connection,
    words: &[String],
    search: Search,
    limit: usize,
) -> Result<Vec<ConversationRecord>, StoreError> {
    let words: Vec<_> = words.iter().map(|word| word.to_lowercase()).collect();
    let mut found = Vec::new();
    for record in super::search::search(connection, search, LOOKED_THROUGH)? {
        if is_said(connection, record.id, &words)? {
            found.push(record);
        }
        if found.len() == limit {
            break;
        }
    }
    Ok(found)
}

fn is_said(connection: &Connection, id: ConversationId, words: &[String]) -> Result<bool, StoreError> {
    let mut select = connection.prepare_cached(
        "WITH log AS (SELECT key FROM conversations WHERE id = ?1)
         SELECT event FROM
            (SELECT number FROM places WHERE conversation = (SELECT key FROM log)
             UNION ALL SELECT number FROM events
                WHERE number > (SELECT number FROM placed) AND conversation = (SELECT key FROM log))
         JOIN events USING (number) JOIN facets USING (facet)
         WHERE kind = 'MessageEvent' AND source IN ('user', 'agent')
            OR kind = 'ActionEvent' AND event LIKE '%\"tool_name\":\"finish\"%'",
    )?;
    let mut rows = select.query([id.hex()])?;
    while let Some(row) = rows.next()? {
        let text = text_of(&row.get::<_, String>(0)?).to_lowercase();
        if words.iter().all(|word| text.contains(word)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What an event says; nothing if it cannot be read.
fn text_of(event: &str) -> String {
    let event: Value = serde_json::from_str(event).unwrap_or_default();
    if let Some(finished) = event["action"]["message"].as_str() {
        return finished.to_owned();
    }
    let parts = event["llm_message"]["content"].as_array().into_iter().flatten();
    let texts: Vec<_> = parts.filter_map(|part| part["text"].as_str()).collect();
    texts.join("\n")
}
