//! Looks for events in a log.

use std::sync::Arc;

use deft_engine::OWN_KEYS;
use deft_store::{Direction, EventFilter, Store};
use deft_types::{ConversationId, Event, EventBody, EventId, Seq, Source};
use serde_json::{Value, json};

use crate::extract::Query;
use crate::failure::Failure;
use crate::moment;
use crate::validation::Issue;
use crate::wire::Wire;

/// Messages read at once in search of words.
const PAGE: usize = 256;
/// The kind of events that say something.
const MESSAGE: &str = "MessageEvent";

const SOURCES: [(&str, Source); 4] = [
    ("agent", Source::Agent),
    ("user", Source::User),
    ("environment", Source::Environment),
    ("hook", Source::Hook),
];

/// Which events are wanted.
#[derive(Default)]
pub(crate) struct Filter {
    events: EventFilter,
    /// What a message must say, in small letters.
    body: Option<String>,
    /// The tools that an action or its result must be of; empty: any.
    tools: Vec<String>,
    /// It asks for events of somebody who tells none.
    is_vain: bool,
}

impl Filter {
    /// Those that a query asks for. What only the engine reads is never wanted.
    pub(crate) fn asked(query: &Query) -> Result<Self, Issue> {
        // Some name the class with its module.
        let kind = query
            .get("kind")
            .map(|kind| kind.rsplit('.').next().unwrap_or(kind));
        let body = query.get("body").map(str::to_lowercase);
        let tools = query.get("tool_name").unwrap_or_default().split(',');
        let tools = tools.filter(|tool| !tool.is_empty()).map(str::to_owned).collect();
        let source = query.get("source").map(|asked| {
            let known = SOURCES.iter().find(|(name, _)| *name == asked);
            known.map(|(_, source)| *source)
        });
        let events = EventFilter {
            kind: kind.or(body.as_ref().map(|_| MESSAGE)).map(str::to_owned),
            source: source.flatten(),
            without_keys: OWN_KEYS,
            from: moment_of(query, "timestamp__gte", moment::read)?,
            before: moment_of(query, "timestamp__lt", moment::read)?,
        };
        Ok(Self {
            events,
            body,
            tools,
            is_vain: source == Some(None),
        })
    }

    /// Whether all that is wanted can be asked of the store.
    fn is_plain(&self) -> bool {
        self.body.is_none() && self.tools.is_empty()
    }

    /// Whether an event that fits otherwise says what it must.
    fn says(&self, event: &Event) -> bool {
        if !self.tools.is_empty() {
            let tool = match &event.body {
                EventBody::Action(action) => &action.tool_name,
                EventBody::Observation(observation) => &observation.tool_name,
                _ => return false,
            };
            return self.tools.contains(tool);
        }
        let Some(body) = &self.body else {
            return true;
        };
        match &event.body {
            EventBody::Message(message) => message.llm_message.plain_text().to_lowercase().contains(body),
            _ => false,
        }
    }
}

/// A moment that a client names, read in one of the forms that moments are kept in.
pub(crate) fn moment_of<T>(
    query: &Query,
    name: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Issue> {
    let Some(text) = query.get(name) else {
        return Ok(None);
    };
    read(text).map(Some).ok_or_else(|| {
        let msg = "Input should be a valid datetime or date";
        Issue::new(
            "datetime_from_date_parsing",
            &["query", name],
            msg,
            &Value::from(text),
        )
        .with(json!({"error": "it cannot be read"}))
    })
}

/// The log of one conversation.
pub(crate) struct Log {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) id: ConversationId,
}

/// A page of what was looked for.
#[derive(Default)]
pub(crate) struct Found {
    /// The events as JSON.
    pub(crate) texts: Vec<String>,
    /// The first event of the next page.
    pub(crate) next: Option<EventId>,
}

impl Log {
    /// One event.
    pub(crate) async fn get(&self, event: &EventId) -> Result<Option<Event>, Failure> {
        let Some(seq) = self.store.position(self.id, event).await? else {
            return Ok(None);
        };
        let found = self.store.read(self.id, seq, 1).await?.pop();
        Ok(found.map(|(_, event)| event))
    }

    /// A page of events, which begins with `first`; one that is not there counts as none.
    pub(crate) async fn search(
        &self,
        wire: &Wire,
        filter: &Filter,
        direction: Direction,
        first: Option<EventId>,
        limit: usize,
    ) -> Result<Found, Failure> {
        if filter.is_vain {
            return Ok(Found::default());
        }
        let first = match first {
            Some(first) => self.store.position(self.id, &first).await?,
            None => None,
        };
        let page = if filter.is_plain() { limit + 1 } else { PAGE };
        let mut found = Found::default();
        let mut from = first;
        loop {
            let events = self
                .store
                .find_events(self.id, filter.events.clone(), direction, from, page)
                .await?;
            for (_, event) in events.iter().filter(|(_, event)| filter.says(event)) {
                let Some(text) = wire.text(event) else {
                    continue;
                };
                if found.texts.len() == limit {
                    found.next = Some(event.id.clone());
                    return Ok(found);
                }
                found.texts.push(text);
            }
            from = match (direction, events.last()) {
                (Direction::Forward, Some((last, _))) if events.len() == page => Some(last.next()),
                (Direction::Backward, Some((last, _))) if events.len() == page && last.0 > 0 => {
                    Some(Seq(last.0 - 1))
                }
                _ => return Ok(found),
            };
        }
    }

    /// How many there are.
    pub(crate) async fn count(&self, filter: &Filter) -> Result<u64, Failure> {
        if filter.is_vain {
            return Ok(0);
        }
        if filter.is_plain() {
            return Ok(self.store.count_events(self.id, filter.events.clone()).await?);
        }
        let (mut count, mut from) = (0, Some(Seq::FIRST));
        while let Some(first) = from {
            let (filter_events, direction) = (filter.events.clone(), Direction::Forward);
            let events = self
                .store
                .find_events(self.id, filter_events, direction, Some(first), PAGE)
                .await?;
            count += events.iter().filter(|(_, event)| filter.says(event)).count() as u64;
            from = events
                .last()
                .filter(|_| events.len() == PAGE)
                .map(|(last, _)| last.next());
        }
        Ok(count)
    }
}
