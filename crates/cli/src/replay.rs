//! `deft replay`: shows a conversation again as it went, or tries it once more from one of its steps.

use std::sync::Arc;

use anyhow::bail;
use deft_engine::{CommandError, ExecutorFate, Fork, RealWorld, Rewind, World};
use deft_store::{ConversationRecord, NewConversation, Store};
use deft_tools::Overwrite;
use deft_types::{ConversationId, Event, EventBody, EventId, Seq, Source};
use uuid::Uuid;

use crate::args::Replay;
use crate::compose;
use crate::exit::Exit;
use crate::output::one_line;
use crate::screen::{Format, Screen};
use crate::settings::{Settings, Surroundings};
use crate::watch::Watched;

/// Events read at once.
const PAGE: usize = 500;

pub(crate) async fn replay(args: Replay) -> anyhow::Result<Exit> {
    let surroundings = Surroundings::of_this_process()?;
    let settings = Settings::load(&args.flags, &surroundings, &surroundings.current_dir)?;
    let store = compose::open_store(&settings)?;
    let record = compose::find(store.as_ref(), &args.id).await?;
    let format = if args.json { Format::Json } else { Format::Human };
    let Some(step) = args.from else {
        if args.flags.has("model") {
            bail!(
                "--model names who goes on from a step: name the step too, with --from, or leave --model out to see the \
                 conversation as it went"
            );
        }
        let events = read_all(store.as_ref(), record.id).await?;
        return show_again(&settings, store.as_ref(), &record, events, format).await;
    };
    let Before { event: at, turn } =
        before_step(&deft_engine::read_branch(store.as_ref(), record.id).await?, step)?;
    if args.files {
        let restored = restore_files(&settings, store.clone(), &record, at.clone()).await;
        restored.map_err(|error| match error.downcast_ref() {
            Some(CommandError::InTurn) => error.context(format!(
                "the files cannot be made what they were before step {step}; begin with the first step of its turn \
                 (--from {turn} --files), or leave --files out to go on with the files of now"
            )),
            _ => error,
        })?;
    } else {
        anstream::eprintln!(
            "deft: note: the files are left as they are now; --files makes them what they were before step {step}"
        );
    }
    try_again(&settings, store, &record, at, format).await
}

/// Makes the files what they were at an event.
async fn restore_files(
    settings: &Settings,
    store: Arc<dyn Store>,
    source: &ConversationRecord,
    at: EventId,
) -> anyhow::Result<()> {
    let mode = deft_engine::load(store.as_ref(), source.id).await?.mode;
    let model = compose::model_for(settings, store.as_ref(), Some(source.id)).await?;
    let conversation = compose::open(settings, store, model, source, mode).await?;
    let restored = conversation
        .rewind(at, Rewind::FilesExactly, Overwrite::Refuse)
        .await;
    conversation.close(ExecutorFate::End).await;
    if let Some(restored) = restored? {
        for failure in &restored.failed {
            let (path, reason) = (one_line(&failure.path), one_line(&failure.reason));
            anstream::eprintln!("failed   {path}: {reason}");
        }
        let id = source.id.hex();
        anstream::eprintln!(
            "The files are back. To undo it: deft restore {id} {}",
            restored.undo
        );
    }
    Ok(())
}

/// Nobody is asked and nothing is run: it is all in the log.
async fn show_again(
    settings: &Settings,
    store: &dyn Store,
    record: &ConversationRecord,
    events: Vec<Event>,
    format: Format,
) -> anyhow::Result<Exit> {
    let screen = Screen::start(format);
    for event in events {
        match screen.room().await {
            Some(room) => room.event(Arc::new(event)),
            None => break, // it is gone; its own error says why
        }
    }
    let state = deft_engine::load(store, record.id).await?;
    screen.finish(&state, record.id, &settings.data_dir.value).await?;
    Ok(Exit::Finished)
}

/// In a copy, which ends before the step; the model that is set answers from there.
async fn try_again(
    settings: &Settings,
    store: Arc<dyn Store>,
    source: &ConversationRecord,
    at: EventId,
    format: Format,
) -> anyhow::Result<Exit> {
    let model = compose::model_for(settings, store.as_ref(), Some(source.id)).await?;
    let id = ConversationId(Uuid::new_v4());
    let new = NewConversation {
        id,
        created_at: RealWorld.now(),
        workspace: source.workspace.clone(),
        settings: compose::budget::copied(store.as_ref(), source.id).await?,
        owner: source.owner,
    };
    let fork = Fork {
        at: Some(at),
        keep_stats: false,
        title: None,
        request: None,
    };
    deft_engine::fork(store.as_ref(), source.id, new, fork, &RealWorld).await?;
    let record = compose::find(store.as_ref(), &id.hex()).await?;
    let mode = deft_engine::load(store.as_ref(), id).await?.mode;
    let mut settings = settings.clone();
    compose::budget::keep(&mut settings, store.as_ref(), id).await?;
    let conversation = compose::open(&settings, store.clone(), model, &record, mode).await?;
    compose::confirm::keep(&settings, &conversation).await?;
    Watched {
        conversation: &conversation,
        store: store.as_ref(),
        record: &record,
        data_dir: &settings.data_dir.value,
        goal: None,
    }
    .run(None, format)
    .await
}

async fn read_all(store: &dyn Store, id: ConversationId) -> anyhow::Result<Vec<Event>> {
    let mut events = Vec::new();
    let mut from = Seq::FIRST;
    loop {
        let page = store.read(id, from, PAGE).await?;
        let Some((last, _)) = page.last() else {
            return Ok(events);
        };
        from = last.next();
        events.extend(page.into_iter().map(|(_, event)| event));
    }
}

/// What comes before a step.
struct Before {
    /// The last event.
    event: EventId,
    /// The step with which its turn begins.
    turn: u64,
}

/// What comes before a reply of the model, which are counted from 1.
fn before_step(events: &[Event], step: u64) -> anyhow::Result<Before> {
    let (mut steps, mut turn, mut reply, mut before) = (0, 1, None, None);
    for event in events {
        if event.source == Source::User && matches!(event.body, EventBody::Message(_)) {
            turn = steps + 1;
        }
        let of = reply_of(event);
        if ends_reply(event) {
            reply = None; // the next one is another, even if a server calls them all alike
        }
        if of.is_some() && of != reply {
            reply = of;
            steps += 1;
            if steps == step {
                break;
            }
        }
        if !matches!(event.body, EventBody::StateUpdate(_)) {
            before = Some(event.id.clone());
        }
    }
    match before {
        Some(event) if steps == step => Ok(Before { event, turn }),
        _ => bail!("the conversation has {steps} steps; name one of them with --from"),
    }
}

/// Whether the model is asked anew before it says or does more. A call that is refused may be followed by others of
/// its reply.
fn ends_reply(event: &Event) -> bool {
    match &event.body {
        EventBody::Observation(_) => true,
        EventBody::Message(_) => event.source != Source::Agent,
        _ => false,
    }
}

fn reply_of(event: &Event) -> Option<&str> {
    match &event.body {
        EventBody::Action(action) => Some(&action.llm_response_id),
        EventBody::Message(said) if event.source == Source::Agent => said.llm_response_id.as_deref(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Events that are named by their place: `act` and `say` are of the reply behind the colon.
    fn log(kinds: &[&str]) -> Vec<Event> {
        let event = |(n, kind): (usize, &&str)| {
            let (kind, reply) = kind.split_once(':').unwrap_or((kind, ""));
            let call = json!({"id": "c", "name": "think", "arguments": "{}", "origin": "completion"});
            let mut event: Value = match kind {
                "act" => json!({
                    "kind": "ActionEvent", "source": "agent", "llm_response_id": reply, "tool_call": call,
                    "tool_name": "think", "tool_call_id": "c", "thought": [], "security_risk": "LOW",
                }),
                "see" => json!({
                    "kind": "ObservationEvent", "source": "environment", "tool_name": "think", "tool_call_id": "c",
                    "action_id": "a", "observation": {"kind": "ThinkObservation", "content": []},
                }),
                "fail" => json!({
                    "kind": "AgentErrorEvent", "source": "agent", "tool_name": "think", "tool_call_id": "c",
                    "error": "no",
                }),
                "say" => json!({
                    "kind": "MessageEvent", "source": "agent", "llm_response_id": reply,
                    "llm_message": {"role": "assistant", "content": []},
                }),
                _ => json!({
                    "kind": "MessageEvent", "source": "user", "llm_message": {"role": "user", "content": []},
                }),
            };
            event["id"] = json!(n.to_string());
            event["timestamp"] = json!("2026-01-01T00:00:00");
            serde_json::from_value(event).unwrap()
        };
        kinds.iter().enumerate().map(event).collect()
    }

    /// The events before each step.
    fn before_steps(kinds: &[&str]) -> Vec<String> {
        let events = log(kinds);
        let found = (1..).map_while(|step| before_step(&events, step).ok());
        found.map(|before| before.event.0).collect()
    }

    #[test]
    fn a_step_is_a_reply_whatever_the_server_calls_it() {
        for (kinds, expected) in [
            (vec!["task", "act:a", "see", "say:b"], vec!["0", "2"]),
            (
                vec!["task", "act:x", "see", "act:x", "see", "say:x", "more", "say:x"],
                vec!["0", "2", "4", "6"],
            ),
            (
                vec!["task", "act:x", "act:x", "see", "see", "say:x"],
                vec!["0", "4"],
            ),
            (vec!["task", "act:x", "fail", "act:x", "see"], vec!["0"]),
            (vec!["task"], vec![]),
        ] {
            assert_eq!(before_steps(&kinds), expected, "{kinds:?}");
        }
    }
}
