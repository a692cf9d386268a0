//! Logs that others wrote, and logs that something has damaged: each opens and takes the next message.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use deft_engine::{Conversation, Extensions, Memory, Outfit, Parts, Safety, Supervision};
use deft_llm::Messages;
use deft_store::{DAMAGED_EVENT, OldLog, Owner, Store, old_logs_at};
use deft_tools::Toolbox;
use deft_types::{ConversationId, Event, EventBody, EventId, Extra, Message, Role, Source, Status, Unknown};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::desk::Desk;
use crate::simulation::executor::{Door, Place};
use crate::simulation::log::Logs;
use crate::simulation::model::SimulatedModel;
use crate::simulation::ponder::{Ponder, tools};
use crate::simulation::scene::{Dice, Life, Scene, SimulatedWorld};
use crate::simulation::store::SimulatedStore;
use crate::simulation::well_formed::well_formed;
use crate::simulation::{log_of, soak_time, variable};

pub(crate) const ID: ConversationId = ConversationId(Uuid::from_u128(1));
/// Damaged logs that every run of the tests tries.
const ROUNDS: u64 = 1_000;
/// Stories whose logs every run of the tests damages.
const OWN_LOGS: u64 = 100;

/// What a conversation on a log of the simulation consists of, in a world in which nothing goes wrong.
pub(crate) async fn parts_on(scene: Arc<Scene>, logs: Arc<Logs>) -> Parts {
    scene.calm_down();
    let life = Arc::new(Life::new(Desk::limits(), None));
    let place = Arc::new(Place::new(scene.clone(), logs.clone(), ID, tools()));
    let store = Arc::new(SimulatedStore {
        scene: scene.clone(),
        logs: logs.clone(),
        life: life.clone(),
    });
    let lease = store.acquire(ID, &Owner::this_process()).await.unwrap();
    life.fencing.set(lease.fencing()).unwrap();
    Parts {
        store,
        lease,
        model: Arc::new(SimulatedModel {
            scene: scene.clone(),
            logs,
            life: life.clone(),
            conversation: ID,
            asked: Arc::default(),
            profile: SimulatedModel::profile("simulated", None),
        }),
        model_name: "simulated".to_owned(),
        models: None,
        agents: None,
        workspace: Arc::new(Door {
            place,
            life: life.clone(),
        }),
        directory: "/simulated".to_owned(),
        tools: tools(),
        host: Toolbox::host().with(Arc::new(Ponder(scene.clone()))),
        responses: BTreeMap::new(),
        world: Arc::new(SimulatedWorld { scene, life }),
        limits: Desk::limits(),
        safety: Safety::default(),
        memory: Memory::default(),
        outfit: Outfit::default(),
        extensions: Extensions::default(),
        supervision: Supervision::default(),
        external: None,
    }
}

/// Opens a conversation on this log, says something, and gives back what the model was asked at last.
async fn continued(events: Vec<Event>) -> Result<(Status, Messages), String> {
    let scene = Arc::new(Scene::new(0));
    let logs = Arc::new(Logs::default());
    logs.create(ID, Value::Null).unwrap();
    let fencing = logs.acquire(ID).unwrap();
    logs.append(ID, fencing, events).unwrap();
    let opened = Conversation::open(parts_on(scene, logs).await);
    let conversation = opened.await.map_err(|error| error.to_string())?;
    let last = Message::text(Role::User, "and now?");
    let sent = conversation.send(EventId::from("the last message"), last).await;
    sent.map_err(|error| error.to_string())?;
    let mut asked = false;
    loop {
        conversation.run().await.map_err(|error| error.to_string())?;
        let settled = tokio::time::timeout(Duration::from_secs(60), conversation.settled()).await;
        let state = conversation.inspect().await.map_err(|error| error.to_string())?;
        let progress = settled.map_err(|_| format!("it never settles: {state:?}"))?;
        if let Some(fault) = progress.fault {
            return Err(fault);
        }
        // A process may have died before it asked for what the agent of a task wants: then it is asked for once, now.
        if asked || progress.status != Status::WaitingForConfirmation {
            return Ok((progress.status, state.view.messages()));
        }
        asked = true;
    }
}

/// The conversation took the message, and a provider would read all of it.
async fn check(events: Vec<Event>) -> Result<(), String> {
    let (status, messages) = continued(events).await?;
    if status != Status::Finished {
        return Err(format!("the status is {status}"));
    }
    if !messages.iter().any(|message| message.plain_text() == "and now?") {
        return Err("the model does not see the message".to_owned());
    }
    well_formed(&messages)
}

/// What a store makes of a line of a log.
fn read(value: &Value) -> Event {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| {
        let id = value["id"]
            .as_str()
            .map_or_else(|| Uuid::new_v4().to_string(), str::to_owned);
        Event {
            id: EventId(id),
            timestamp: deft_types::Timestamp(String::new()),
            source: Source::Environment,
            parent_id: None,
            body: EventBody::Unknown(Unknown {
                fields: Extra::from_iter([("detail".to_owned(), error.to_string().into())]),
                kind: DAMAGED_EVENT.to_owned(),
            }),
        }
    })
}

/// The sample conversations, each by its name.
fn samples() -> Vec<(String, Vec<Value>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/logs");
    let folders = ["v0", "v1"].map(|generation| old_logs_at(&folder.join(generation)).unwrap());
    let samples = folders.into_iter().flatten().map(|path| {
        let events = OldLog::read(&path).unwrap().events.into_iter();
        let events = events.map(|event| serde_json::to_value(event).unwrap()).collect();
        (path.file_name().unwrap().to_string_lossy().into_owned(), events)
    });
    samples.collect()
}

/// Runs something in simulated time, so that nothing takes long.
pub(crate) fn simulated<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    runtime.unwrap().block_on(work)
}

#[test]
fn every_log_of_the_other_program_loads_and_continues() {
    let samples = samples();
    assert_eq!(samples.len(), 4);
    for (name, events) in samples {
        let events: Vec<Event> = events
            .into_iter()
            .map(|event| serde_json::from_value(event).unwrap())
            .collect();
        simulated(check(events)).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
    }
}

#[test]
fn a_call_that_another_program_left_open_is_not_run_on_a_guess() {
    let events = samples()
        .into_iter()
        .find(|(name, _)| name.ends_with("running"))
        .unwrap()
        .1;
    let (_, messages) = simulated(continued(events.iter().map(read).collect())).unwrap();
    let result = messages
        .iter()
        .find(|message| message.role == Role::Tool)
        .unwrap();
    assert!(
        result.plain_text().contains("look before you repeat it"),
        "{result:?}"
    );
}

#[test]
fn results_that_have_lost_the_ids_of_their_calls_hold_no_message_back() {
    for (name, mut events) in samples() {
        let results = events.iter_mut().filter(|event| event["action_id"].is_string());
        results.for_each(|result| result["tool_call_id"] = json!(""));
        let read = events.iter().map(read).collect();
        simulated(check(read)).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
    }
}

#[test]
fn every_damaged_log_opens_and_takes_the_next_message() {
    let samples = samples();
    for round in 0..ROUNDS {
        let dice = Dice::new(round);
        damaged_goes_on(dice.pick(&samples).1.clone(), &dice, round);
    }
}

/// A log of our own, with branches, condensations, a queue and calls side by side: what a story of the simulation left.
fn own_log(seed: u64) -> Vec<Value> {
    let events = log_of(seed).into_iter();
    events.map(|event| serde_json::to_value(event).unwrap()).collect()
}

#[test]
fn every_damaged_log_of_our_own_opens_and_takes_the_next_message() {
    match variable("DEFT_SEED") {
        Some(seed) => damaged_own_log_goes_on(seed),
        None => (0..OWN_LOGS).for_each(damaged_own_log_goes_on),
    }
}

/// Damages the log of a story, each time in other ways.
fn damaged_own_log_goes_on(seed: u64) {
    let log = own_log(seed);
    for round in 0..3 {
        damaged_goes_on(log.clone(), &Dice::new(seed + round * ROUNDS), seed);
    }
}

#[test]
#[ignore = "takes as long as it is told: `make soak SECONDS=600`"]
fn soak_with_damaged_logs() {
    let begun = Instant::now();
    let mut seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() << 24;
    while begun.elapsed() < soak_time() {
        damaged_own_log_goes_on(seed);
        seed += 1;
    }
}

/// Damages a log in some ways, and tries that it opens and goes on.
fn damaged_goes_on(mut events: Vec<Value>, dice: &Dice, seed: u64) {
    for _ in 0..=dice.below(6) {
        damage(&mut events, dice);
    }
    let mut taken = std::collections::HashSet::new();
    events.retain(|event| taken.insert(event["id"].to_string())); // a store has each id once
    let read = events.iter().map(read).collect();
    if let Err(wrong) = simulated(check(read)) {
        panic!(
            "seed {seed} (a log of our own is tried again with DEFT_SEED={seed}): {wrong}\n{}",
            json!(events)
        );
    }
}

/// Damages a log in one way.
fn damage(events: &mut Vec<Value>, dice: &Dice) {
    if events.is_empty() {
        return;
    }
    let (one, other) = (dice.below(events.len()), dice.below(events.len()));
    let ids: Vec<Value> = events.iter().map(|event| event["id"].clone()).collect();
    match dice.below(10) {
        _ if !events[one].is_object() => {}
        0 => drop(events.remove(one)),
        1 => events.swap(one, other),
        2 => events.truncate(one),
        3 => {
            let mut again = events[one].clone();
            again["id"] = json!(dice.uuid().to_string());
            events.insert(other, again);
        }
        4 => events[one]["parent_id"] = dice.pick(&ids).clone(),
        5 => events[one]["parent_id"] = json!("nowhere"),
        6 => events[one] = json!({"id": events[one]["id"]}),
        7 => {
            let status = [
                "running",
                "waiting_for_confirmation",
                "stuck",
                "paused",
                "nonsense",
            ];
            events.insert(one, update(dice, "execution_status", &json!(dice.pick(&status))));
        }
        8 => {
            let keys = [
                "leaf_event_id",
                "masked_results",
                "unseen_message_ids",
                "executor",
                "stats",
            ];
            let values = [
                Value::Null,
                dice.pick(&ids).clone(),
                json!(ids),
                json!({"until": dice.pick(&ids)}),
            ];
            events.insert(
                one,
                update(dice, keys[dice.below(keys.len())], dice.pick(&values)),
            );
        }
        _ => spoil(&mut events[one], dice),
    }
}

fn update(dice: &Dice, key: &str, value: &Value) -> Value {
    json!({
        "id": dice.uuid().to_string(), "timestamp": "2026-11-15T01:14:49.212782", "source": "environment",
        "kind": "ConversationStateUpdateEvent", "key": key, "value": value,
    })
}

/// Puts something else in the place of some value.
fn spoil(value: &mut Value, dice: &Dice) {
    let inner = match value {
        Value::Object(fields) if !fields.is_empty() => fields.values_mut().collect::<Vec<_>>(),
        Value::Array(items) if !items.is_empty() => items.iter_mut().collect(),
        _ => Vec::new(),
    };
    let count = inner.len();
    if count > 0 && !dice.one_in(6) {
        let chosen = inner.into_iter().nth(dice.below(count)).unwrap();
        return spoil(chosen, dice);
    }
    let others = [
        Value::Null,
        json!(""),
        json!("\u{0}\u{7f}{["),
        json!(-1),
        json!([]),
        json!({}),
        json!(true),
    ];
    *value = dice.pick(&others).clone();
}
