//! What a server tells whoever looks after it: a line on standard error for each thing worth knowing.

use std::io::Write as _;
use std::time::SystemTime;

use deft_traces::Traces;
use deft_types::Timestamp;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

use crate::traces::is_traced;

/// How a line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// For people.
    Text,
    /// For programs: one JSON object.
    Json,
}

/// Writes the lines.
struct Log {
    form: Form,
    write: Box<dyn Fn(&str) + Send + Sync>,
}

/// From now on everything of ours is written, as `LOG_LEVEL` and `LOG_JSON` say, and runs are traced if they are to be.
pub(crate) fn begin(variable: impl Fn(&str) -> Option<String>, traces: Option<&Traces>) {
    let level =
        variable("LOG_LEVEL").and_then(|level| level.to_lowercase().replace("warning", "warn").parse().ok());
    let is_json = variable("LOG_JSON").is_some_and(|set| matches!(set.to_lowercase().as_str(), "1" | "true"));
    let log = Log {
        form: if is_json { Form::Json } else { Form::Text },
        // Where that fails nobody is left to tell.
        write: Box::new(|line| drop(writeln!(std::io::stderr().lock(), "{line}"))),
    };
    let subscriber = tracing_subscriber::registry()
        .with(log.at(level.unwrap_or(LevelFilter::INFO)))
        .with(traces.map(|traces| traces.layer(is_traced)));
    let _ = tracing::subscriber::set_global_default(subscriber); // only where somebody else was first
}

impl Log {
    /// Only what is of this level or worse, and ours: libraries log what they please, requests with their headers
    /// included.
    fn at<S>(self, level: LevelFilter) -> impl Layer<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let is_worth_it = move |metadata: &Metadata<'_>| {
            metadata.is_event() && *metadata.level() <= level && metadata.target().starts_with("deft")
        };
        self.with_filter(filter_fn(is_worth_it).with_max_level_hint(level))
    }
}

impl<S: Subscriber> Layer<S> for Log {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields(Map::new());
        event.record(&mut fields);
        (self.write)(&line(self.form, event.metadata(), fields.0));
    }
}

fn line(form: Form, metadata: &Metadata<'_>, mut fields: Map<String, Value>) -> String {
    let time = Timestamp::at(SystemTime::now()).0;
    let level = metadata.level().as_str();
    let message = fields.shift_remove("message").unwrap_or_default(); // the others keep their order
    match form {
        Form::Json => {
            let mut line = Map::new();
            line.insert("timestamp".to_owned(), time.into());
            line.insert("level".to_owned(), level.into());
            line.insert("target".to_owned(), metadata.target().into());
            line.insert("message".to_owned(), message);
            line.extend(fields);
            Value::Object(line).to_string()
        }
        Form::Text => {
            // As JSON, values of strangers have no line ends and no control characters.
            let fields: String = fields
                .iter()
                .map(|(name, value)| format!(" {name}={value}"))
                .collect();
            format!(
                "{time} {level:>5} {}{fields}",
                message.as_str().unwrap_or_default()
            )
        }
    }
}

/// The fields of an event.
struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0
            .insert(field.name().to_owned(), format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    fn logged(form: Form) -> Vec<String> {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&lines);
        let log = Log {
            form,
            write: Box::new(move |line| kept.lock().unwrap().push(line.to_owned())),
        };
        let subscriber = log
            .at(LevelFilter::INFO)
            .with_subscriber(tracing_subscriber::registry());
        tracing::subscriber::with_default(subscriber, || {
            let key = deft_types::Secret::new("sk-1");
            tracing::warn!(count = 3, ?key, reason = "two\nlines", "it failed");
            tracing::debug!("nobody wants to know");
            tracing::error!(target: "hyper", "of a library");
        });
        let lines = lines.lock().unwrap();
        lines.clone()
    }

    #[test]
    fn what_is_worth_knowing_is_one_line_without_secrets() {
        let [text] = &logged(Form::Text)[..] else {
            panic!("one line is expected")
        };
        let expected = r#" WARN it failed count=3 key="**********" reason="two\nlines""#;
        assert!(text.ends_with(expected), "{text}");
        let json: Value = serde_json::from_str(&logged(Form::Json)[0]).unwrap();
        assert_eq!(
            (&json["level"], &json["message"]),
            (&"WARN".into(), &"it failed".into())
        );
        assert_eq!(
            (&json["count"], &json["reason"]),
            (&3.into(), &"two\nlines".into())
        );
    }
}
