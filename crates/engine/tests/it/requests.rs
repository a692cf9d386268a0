//! Every verb of steering is a command of the actor, leaves its event, and is done once however often its client asks.

use std::collections::BTreeMap;
use std::time::SystemTime;

use deft_engine::{
    AllowScope, Answer, Budget, CommandError, Conversation, ExecutorFate, Fork, Limits, Outfit, QueueChange,
    Queued, Rewind, Safety, SecretSources,
};
use deft_store::NewConversation;
use deft_tools::{Overwrite, SecretSet};
use deft_types::{
    ActionId, ConfirmationPolicy, ConversationId, Event, EventBody, EventId, Message, Role, Secret,
    SecurityAnalyzer, Source,
};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Map, json};
use uuid::Uuid;

use crate::desk::{Desk, say, settled};

/// Where the conversation is when it is asked.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// A message was said that nobody has answered.
    Said,
    /// A turn has ended that changed a file.
    Done,
    /// The model takes for ever.
    Running,
    /// An action waits for a word.
    Waiting,
}

type Verb = for<'a> fn(&'a Desk, &'a Conversation) -> BoxFuture<'a, String>;

/// Each verb, where it makes sense, and what tells of it in the log: the kind of an event, or the key of a state update.
const VERBS: &[(&str, Place, &str, Verb)] = &[
    ("run", Place::Said, "execution_status", |_, it| said(it.run())),
    ("pause", Place::Running, "PauseEvent", |_, it| said(it.pause())),
    ("interrupt", Place::Running, "InterruptEvent", |_, it| {
        said(it.interrupt())
    }),
    ("confirm", Place::Waiting, "ObservationEvent", |desk, it| {
        said(async move { it.respond(vec![(waiting(desk).await, Answer::Approve)]).await })
    }),
    (
        "edit and confirm",
        Place::Waiting,
        "ObservationEvent",
        |desk, it| {
            let arguments = json!({"command": "echo edited > f"})
                .as_object()
                .cloned()
                .unwrap();
            said(async move {
                it.respond(vec![(waiting(desk).await, Answer::Edit { arguments })])
                    .await
            })
        },
    ),
    ("reject", Place::Waiting, "UserRejectObservation", |_, it| {
        said(it.reject("no".to_owned()))
    }),
    ("condense", Place::Done, "CondensationRequest", |_, it| {
        said(it.condense())
    }),
    ("ask aside", Place::Done, "stats", |_, it| {
        said(it.ask_aside("why?"))
    }),
    ("title", Place::Running, "title", |_, it| {
        said(it.label(Some("A better name".to_owned()), None))
    }),
    ("tags", Place::Running, "tags", |_, it| {
        said(it.label(None, Some(Map::from_iter([("team".to_owned(), json!("core"))]))))
    }),
    ("navigate", Place::Done, "leaf_event_id", |_, it| {
        said(it.navigate(None))
    }),
    ("fork", Place::Done, "forked", |_, it| {
        let new = NewConversation {
            id: ConversationId(Uuid::new_v4()),
            created_at: SystemTime::now(),
            workspace: String::new(),
            settings: json!({}),
            owner: None,
        };
        let whole = Fork {
            at: None,
            keep_stats: false,
            title: None,
            request: None,
        };
        said(it.fork(new, whole))
    }),
    ("rewind", Place::Done, "restored_files", |desk, it| {
        said(async move {
            it.rewind(first_message(desk).await, Rewind::Both, Overwrite::Refuse)
                .await
        })
    }),
    ("restore files", Place::Done, "restored_files", |desk, it| {
        said(async move {
            let checkpoint = desk.rebuilt().await.checkpoints[0].1;
            it.restore_files(checkpoint, Overwrite::Refuse).await
        })
    }),
    ("rerun", Place::Done, "rerun", |_, it| said(it.rerun())),
    ("goal", Place::Running, "goal", |_, it| {
        said(it.tell("goal".to_owned(), json!({"objective": "all tests pass"})))
    }),
    ("switch model", Place::Running, "agent", |desk, it| {
        said(it.switch_model("other".to_owned(), desk.model.clone()))
    }),
    ("policy", Place::Running, "confirmation_policy", |_, it| {
        said(it.set_policy(ConfirmationPolicy::AlwaysConfirm))
    }),
    ("analyzer", Place::Running, "security_analyzer", |_, it| {
        said(it.set_analyzer(Some(SecurityAnalyzer::Model)))
    }),
    (
        "allow for the project",
        Place::Running,
        "project_allow_rules",
        |_, it| said(it.allow("git status", AllowScope::Project)),
    ),
    ("allow", Place::Running, "allow_rules", |_, it| {
        said(it.allow("git status", AllowScope::Conversation))
    }),
    ("secrets", Place::Running, "secrets", |_, it| {
        said(it.set_secrets(secrets()))
    }),
    ("limits", Place::Running, "limits", |_, it| {
        said(it.set_limits(Limits {
            max_steps: 7,
            ..Desk::limits()
        }))
    }),
    ("queue", Place::Running, "message_queue", |_, it| {
        said(it.change_queue(QueueChange::Add(Queued {
            id: EventId(Uuid::new_v4().to_string()), // another one each time: the request's id is what counts
            message: Message::text(Role::User, "later"),
        })))
    }),
    ("send", Place::Running, "MessageEvent", |_, it| {
        said(it.send(
            EventId("0b15f665-a33f-41cd".to_owned()),
            Message::text(Role::User, "also this"),
        ))
    }),
    ("add budget", Place::Running, "added_budget", |_, it| {
        let more = Budget {
            steps: 3,
            ..Budget::default()
        };
        said(it.add_budget(EventId("1c26a776-b44a-52de".to_owned()), more))
    }),
];

fn said<'a, T, E>(answer: impl Future<Output = Result<T, E>> + Send + 'a) -> BoxFuture<'a, String>
where
    T: std::fmt::Debug,
    E: std::fmt::Debug,
{
    async move { format!("{:?}", answer.await) }.boxed()
}

fn secrets() -> SecretSources {
    let all = BTreeMap::from([("TOKEN".to_owned(), Secret::new("s3cr3t-value".to_owned()))]);
    SecretSources {
        values: SecretSet::new(all).unwrap(),
        lookup: None,
    }
}

async fn waiting(desk: &Desk) -> ActionId {
    let events = desk.events().await;
    let is_action = |event: &&Event| matches!(event.body, EventBody::Action(_));
    events.iter().find(is_action).unwrap().id.clone()
}

async fn first_message(desk: &Desk) -> EventId {
    let events = desk.events().await;
    let is_message =
        |event: &&Event| event.source == Source::User && matches!(event.body, EventBody::Message(_));
    events.iter().find(is_message).unwrap().id.clone()
}

/// How many events are of a kind, or tell of a field of the state.
fn told(events: &[Event], what: &str) -> usize {
    let is_one = |event: &&Event| match &event.body {
        EventBody::StateUpdate(update) => update.key == what,
        _ => serde_json::to_value(event).unwrap()["kind"] == what,
    };
    events.iter().filter(is_one).count()
}

async fn open(desk: &Desk, place: Place) -> Conversation {
    let mut parts = desk.parts(Desk::limits()).await;
    parts.outfit = Outfit {
        checkpoints: true,
        ..Outfit::default()
    };
    if place == Place::Waiting {
        parts.safety = Safety {
            policy: ConfirmationPolicy::AlwaysConfirm,
            analyzer: None,
        };
    }
    Conversation::open(parts).await.unwrap()
}

async fn at(place: Place) -> (Desk, Conversation) {
    let script = match place {
        Place::Said => "[{text: hello}]",
        Place::Running => "[{stall: true}]",
        Place::Done | Place::Waiting => {
            "[{tool_calls: [{name: terminal, arguments: {command: echo x > f}}]}, {text: done, repeat: 5}]"
        }
    };
    let desk = Desk::new(script).await;
    let conversation = open(&desk, place).await;
    say(&conversation, "do it").await;
    match place {
        Place::Said => {}
        Place::Running => {
            conversation.run().await.unwrap();
            while desk.model.asked() == 0 {
                tokio::task::yield_now().await;
            }
        }
        Place::Done | Place::Waiting => {
            conversation.run().await.unwrap();
            settled(&conversation).await;
        }
    }
    (desk, conversation)
}

/// Asks until it is not busy with what a turn leaves behind.
async fn asked(verb: Verb, desk: &Desk, conversation: &Conversation) -> String {
    loop {
        let answer = verb(desk, conversation).await;
        if answer != "Err(Running)" {
            return answer;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn every_verb_leaves_its_event_and_the_same_id_again_changes_nothing() {
    for &(name, place, event, verb) in VERBS {
        let (desk, conversation) = at(place).await;
        let before = told(&desk.events().await, event);
        let id = EventId::from(Uuid::new_v4());
        let request = conversation.as_request(id.clone());
        let first = asked(verb, &desk, &request).await;
        assert!(first.starts_with("Ok"), "{name}: {first}");
        if place != Place::Running {
            settled(&conversation).await;
        }
        let events = desk.events().await;
        assert!(told(&events, event) > before, "{name}: no event tells of it");

        let again = asked(verb, &desk, &request).await;
        assert_eq!(again, first, "{name}: another answer");
        assert_eq!(desk.events().await.len(), events.len(), "{name}: done twice");

        // Nothing of this is only in memory.
        conversation.close(ExecutorFate::Keep).await;
        let reopened = open(&desk, place).await;
        let events = desk.events().await.len();
        let request = reopened.as_request(id);
        let later = asked(verb, &desk, &request).await;
        assert_eq!(later, first, "{name}: another answer after a restart");
        assert_eq!(
            desk.events().await.len(),
            events,
            "{name}: done again after a restart"
        );
        assert_eq!(reopened.inspect().await.unwrap(), desk.rebuilt().await, "{name}");
    }
}

#[tokio::test]
async fn an_id_stands_for_one_command() {
    let (desk, conversation) = at(Place::Said).await;
    let request = conversation.as_request(EventId::from(Uuid::new_v4()));
    request
        .set_policy(ConfirmationPolicy::AlwaysConfirm)
        .await
        .unwrap();
    let taken = request.label(Some("other".to_owned()), None).await;
    assert!(matches!(taken, Err(CommandError::IdTaken(_))), "{taken:?}");
    conversation
        .set_policy(ConfirmationPolicy::NeverConfirm)
        .await
        .unwrap();
    request
        .set_policy(ConfirmationPolicy::AlwaysConfirm)
        .await
        .unwrap();
    let state = conversation.inspect().await.unwrap();
    assert_eq!(
        state.policy,
        Some(ConfirmationPolicy::NeverConfirm),
        "an old request came again"
    );
    assert_eq!(state, desk.rebuilt().await);
}

#[tokio::test]
async fn the_log_knows_secrets_by_name_only() {
    let (desk, conversation) = at(Place::Said).await;
    conversation.set_secrets(secrets()).await.unwrap();
    let events = serde_json::to_string(&desk.events().await).unwrap();
    assert!(events.contains("TOKEN") && !events.contains("s3cr3t"), "{events}");
}

#[tokio::test]
async fn a_question_that_comes_twice_at_the_same_time_is_asked_once() {
    let desk = Desk::new("[{text: hello}, {text: one}, {text: two}]").await;
    let conversation = desk.open().await;
    desk.run(&conversation).await;
    let it = conversation.as_request(EventId("q".to_owned()));
    let (first, second) = tokio::join!(it.ask_aside("why?"), it.ask_aside("why?"));
    assert_eq!(
        (first.unwrap(), second.unwrap()),
        ("one".to_owned(), "one".to_owned())
    );
    assert_eq!(desk.model.asked(), 2);
}
