//! The statement that looks for words in what was said: the messages of user and agent, and what the agent said when it
//! finished. There is no index of words, which each append would have to write: so all messages, and all actions to find those
//! that finish, are read of as many conversations as are looked through.

use std::time::{Duration, Instant};

use deft_types::ConversationId;
use rusqlite::Connection;
use serde_json::Value;

use crate::error::StoreError;
use crate::record::{SaidPage, Search};

/// How long is looked, whoever has to wait for it: a search ends, however many there are and however much was said.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(2);
/// How much longer one log may take.
const GRACE: Duration = Duration::from_secs(2);
/// How many conversations are fetched at once.
const BATCH: usize = 100;

/// Those that fit, and in which all the words stand in one message. One is looked at in any case, so that whoever goes on
/// from there comes to an end; a log that cannot be read in time counts as one in which nothing was said.
pub(super) fn search(
    connection: &Connection,
    words: &[String],
    search: Search,
    limit: usize,
    until: Instant,
) -> Result<SaidPage, StoreError> {
    let words: Vec<_> = words.iter().map(|word| word.to_lowercase()).collect();
    let mut page = SaidPage::default();
    let mut from = search.from;
    loop {
        let mut batch = super::search::search(connection, Search { from, ..search }, BATCH + 1)?;
        let behind = (batch.len() > BATCH).then(|| batch.pop()).flatten();
        for (looked_at, record) in batch.into_iter().enumerate() {
            let is_first = from == search.from && looked_at == 0;
            if page.found.len() == limit || (Instant::now() >= until && !is_first) {
                page.next = Some(record.id);
                return Ok(page);
            }
            if is_said(connection, record.id, &words, until)? {
                page.found.push(record);
            }
        }
        match behind {
            Some(record) => from = Some(record.id),
            None => return Ok(page),
        }
    }
}

fn is_said(
    connection: &Connection,
    id: ConversationId,
    words: &[String],
    until: Instant,
) -> Result<bool, StoreError> {
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
        if Instant::now() >= until + GRACE {
            break;
        }
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
