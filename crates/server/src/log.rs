//! Looks for events in a log.

use std::sync::Arc;

use deft_store::Store;
use deft_types::{ConversationId, Event, EventBody, EventId, Seq, Source, Timestamp};
use serde_json::{Value, json};

use crate::extract::Query;
use crate::failure::Failure;
use crate::moment;
use crate::validation::Issue;
use crate::wire::Wire;

/// Events read at once.
const PAGE: u64 = 256;

const SOURCES: [(&str, Source); 4] = [
    ("agent", Source::Agent),
    ("user", Source::User),
    ("environment", Source::Environment),
    ("hook", Source::Hook),
];

/// Which events are wanted.
#[derive(Default)]
pub(crate) struct Filter {
    kind: Option<String>,
    source: Option<Source>,
    /// In small letters.
    body: Option<String>,
    from: Option<Timestamp>,
    before: Option<Timestamp>,
}

impl Filter {
    /// Those that a query asks for.
    pub(crate) fn asked(query: &Query) -> Result<Self, Issue> {
        Ok(Self {
            // Some name the class with its module.
            kind: query
                .get("kind")
                .map(|kind| kind.rsplit('.').next().unwrap_or(kind).to_owned()),
            source: query.choice("source", &SOURCES)?,
            body: query.get("body").map(str::to_lowercase),
            from: moment_of(query, "timestamp__gte")?,
            before: moment_of(query, "timestamp__lt")?,
        })
    }

    fn wants(&self, event: &Event) -> bool {
        let says = |text: &str| match &event.body {
            EventBody::Message(message) => message.llm_message.plain_text().to_lowercase().contains(text),
            _ => false,
        };
        self.kind.as_deref().is_none_or(|kind| kind == event.kind())
            && self.source.is_none_or(|source| source == event.source)
            && self.from.as_ref().is_none_or(|from| *from <= event.timestamp)
            && self
                .before
                .as_ref()
                .is_none_or(|before| event.timestamp < *before)
            && self.body.as_deref().is_none_or(says)
    }
}

fn moment_of(query: &Query, name: &str) -> Result<Option<Timestamp>, Issue> {
    let Some(text) = query.get(name) else {
        return Ok(None);
    };
    moment::read(text).map(Some).ok_or_else(|| {
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

/// In which order events come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Direction {
    /// The oldest first.
    #[default]
    Forward,
    /// The newest first.
    Backward,
}

/// The log of one conversation, as long as it was when somebody began to look.
pub(crate) struct Log {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) id: ConversationId,
    pub(crate) last: Option<Seq>,
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
        let first = match first {
            Some(first) => self.store.position(self.id, &first).await?,
            None => None,
        };
        let mut found = Found::default();
        let mut pages = Pages::new(self, direction, first);
        while let Some(page) = pages.next().await? {
            for event in page.iter().filter(|event| filter.wants(event)) {
                let Some(text) = wire.text(event) else {
                    continue;
                };
                if found.texts.len() == limit {
                    found.next = Some(event.id.clone());
                    return Ok(found);
                }
                found.texts.push(text);
            }
        }
        Ok(found)
    }

    /// How many there are.
    pub(crate) async fn count(&self, wire: &Wire, filter: &Filter) -> Result<u64, Failure> {
        let mut count = 0;
        let mut pages = Pages::new(self, Direction::Forward, None);
        while let Some(page) = pages.next().await? {
            let wanted = |event: &&Event| filter.wants(event) && wire.text(event).is_some();
            count += page.iter().filter(wanted).count() as u64;
        }
        Ok(count)
    }
}

/// Reads a log page by page, from either end.
struct Pages<'a> {
    log: &'a Log,
    direction: Direction,
    /// What is left to read.
    left: std::ops::Range<u64>,
}

impl<'a> Pages<'a> {
    fn new(log: &'a Log, direction: Direction, first: Option<Seq>) -> Self {
        let end = log.last.map_or(0, |last| last.0 + 1);
        let left = match (direction, first) {
            (Direction::Forward, Some(first)) => first.0..end,
            (Direction::Backward, Some(first)) => 0..first.0 + 1,
            (_, None) => 0..end,
        };
        Self { log, direction, left }
    }

    /// The next events, in the right order; none at the end.
    async fn next(&mut self) -> Result<Option<Vec<Event>>, Failure> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let count = PAGE.min(self.left.end - self.left.start);
        let from = match self.direction {
            Direction::Forward => {
                let from = self.left.start;
                self.left.start += count;
                from
            }
            Direction::Backward => {
                self.left.end -= count;
                self.left.end
            }
        };
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let page = self.log.store.read(self.log.id, Seq(from), count).await?;
        let mut events: Vec<_> = page.into_iter().map(|(_, event)| event).collect();
        if self.direction == Direction::Backward {
            events.reverse();
        }
        Ok(Some(events))
    }
}
