//! Recorded wire data survives a round trip through our types.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use deft_types::{BashEvent, Event, EventBody, SessionFrame};
use serde_json::{Value, json};

fn samples() -> Vec<(PathBuf, Value)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let mut samples: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            (
                path.clone(),
                serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap(),
            )
        })
        .collect();
    samples.sort_by(|a, b| a.0.cmp(&b.0));
    samples
}

/// Reads a sample as what it is and writes it again; `None` in the second place means a known kind.
fn round_trip(sample: &Value) -> (Value, Option<String>) {
    if sample.get("type").is_some() {
        let frame: SessionFrame = serde_json::from_value(sample.clone()).unwrap();
        return (serde_json::to_value(&frame).unwrap(), None);
    }
    if sample["kind"].as_str().unwrap().starts_with("Bash") {
        let event: BashEvent = serde_json::from_value(sample.clone()).unwrap();
        let unknown = matches!(event, BashEvent::Unknown(_)).then(|| event.kind().to_owned());
        return (serde_json::to_value(&event).unwrap(), unknown);
    }
    let event: Event = serde_json::from_value(sample.clone()).unwrap();
    let unknown = match &event.body {
        EventBody::Unknown(_) => Some(event.kind().to_owned()),
        EventBody::Action(action) => match &action.action {
            Some(deft_types::Action::Unknown(inner)) if !inner.kind.starts_with("ClientAction_") => {
                Some(inner.kind.clone())
            }
            _ => None,
        },
        EventBody::Observation(observation) => match &observation.observation {
            deft_types::Observation::Unknown(inner) => Some(inner.kind.clone()),
            _ => None,
        },
        _ => None,
    };
    (serde_json::to_value(&event).unwrap(), unknown)
}

#[test]
fn every_recorded_sample_is_of_a_known_kind_and_comes_back_unchanged() {
    let samples = samples();
    assert!(samples.len() >= 55, "only {} samples found", samples.len());
    for (path, sample) in samples {
        let (again, unknown) = round_trip(&sample);
        assert_eq!(unknown, None, "{} is not known", path.display());
        assert_eq!(again, sample, "{} changed", path.display());
    }
}

#[test]
fn fields_we_do_not_know_survive_at_every_level() {
    for (path, mut sample) in samples() {
        if sample.get("type").is_some() {
            continue; // frames are made by us, never stored
        }
        add_unknown_fields(&mut sample);
        let (again, unknown) = round_trip(&sample);
        assert_eq!(unknown, None, "{} is not known", path.display());
        assert_eq!(again, sample, "{} lost a field", path.display());
    }
}

/// Puts a field of the future into the event and into every object below it that we have a type for.
fn add_unknown_fields(value: &mut Value) {
    let Some(object) = value.as_object_mut() else {
        return;
    };
    object.insert("from_the_future".into(), json!({"deep": [1, null]}));
    for key in [
        "action",
        "observation",
        "llm_message",
        "tool_call",
        "classification",
        "metadata",
    ] {
        if let Some(inner) = object.get_mut(key) {
            add_unknown_fields(inner);
        }
    }
}

#[test]
fn a_kind_we_do_not_know_survives() {
    let event = json!({
        "id": "1", "timestamp": "2026-11-15T01:14:49.212782", "source": "agent", "kind": "HologramEvent", "shape": [1, 2]
    });
    let read: Event = serde_json::from_value(event.clone()).unwrap();
    assert!(matches!(read.body, EventBody::Unknown(_)));
    assert_eq!(serde_json::to_value(&read).unwrap(), event);
}

#[test]
fn a_known_kind_with_fields_of_the_wrong_type_survives_as_it_came() {
    let event = json!({
        "id": "1", "timestamp": "t", "source": "agent", "kind": "ActionEvent", "thought": "a text, not a list", "tool_name": 7
    });
    let read: Event = serde_json::from_value(event.clone()).unwrap();
    assert!(matches!(read.body, EventBody::Unknown(_)));
    assert_eq!(serde_json::to_value(&read).unwrap(), event);
}
