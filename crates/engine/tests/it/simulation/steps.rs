//! What somebody may do to a conversation.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use deft_engine::{Answer, CommandError, ExecutorFate, Fork, Limits, fork};
use deft_store::{NewConversation, StoreError};
use deft_types::{ActionId, ConversationId, EventId, Message, Money, Role, Status};
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use super::cast::{limits, policies};
use super::follower::rebuilt;
use super::log::Log;
use super::model::ASIDE;
use super::player::Player;
use super::scene::{Life, SimulatedWorld};

impl Player {
    /// Does one thing.
    pub(super) async fn step(&mut self) {
        let scene = self.scene.clone();
        let dice = &scene.dice;
        let conversation = self.conversation();
        match dice.below(100) {
            0..=14 => self.send().await,
            15..=34 => drop(self.command("run", async move { conversation.run().await }).await),
            35..=49 => {
                let time = if dice.one_in(3) { 30_000 } else { 300 };
                tokio::time::sleep(Duration::from_millis(dice.below(time) as u64)).await;
            }
            50..=57 => drop(
                self.patiently("the run", &self.life, conversation.settled())
                    .await,
            ),
            58..=61 => drop(
                self.command("pause", async move { conversation.pause().await })
                    .await,
            ),
            62..=65 => drop(
                self.command("interrupt", async move { conversation.interrupt().await })
                    .await,
            ),
            66..=70 => self.respond().await,
            71 => {
                let reject = async move { conversation.reject("no".to_owned()).await };
                self.command("reject", reject).await;
            }
            72..=75 => self.navigate().await,
            76..=77 => self.fork().await,
            78..=80 => drop(
                self.command("condense", async move { conversation.condense().await })
                    .await,
            ),
            81 => {
                let model = self.cast.model(&self.life, &self.place, "another");
                let switch = async move { conversation.switch_model("another".to_owned(), model).await };
                self.command("switch the model", switch).await;
            }
            82..=83 => {
                let policy = dice.pick(&policies()).clone();
                self.command(
                    "set the policy",
                    async move { conversation.set_policy(policy).await },
                )
                .await;
            }
            84 => self.limit().await,
            85 => {
                let question = format!("{ASIDE} how far are you?");
                self.pending
                    .spawn(async move { ("ask", conversation.ask_aside(&question).await.is_ok()) });
            }
            86..=88 => self.change().await,
            89..=90 => {
                scene.tell("the process is killed");
                self.life.dead.cancel();
            }
            91..=92 => self.replace().await,
            93..=94 => {
                scene.tell("the executor is killed");
                self.place.die();
            }
            95..=96 => self.place.cut(),
            _ => {
                let fate = *dice.pick(&[ExecutorFate::Keep, ExecutorFate::End]);
                scene.tell(format!("close, {fate:?}"));
                self.patiently("close", &self.life, conversation.close(fate))
                    .await;
                self.forget();
            }
        }
    }

    async fn send(&mut self) {
        let dice = &self.scene.dice;
        let id = match self.said.last() {
            Some(last) if dice.one_in(6) => last.clone(), // again, as after a lost answer
            _ => EventId::from(dice.uuid()),
        };
        let message = Message::text(Role::User, format!("message {}", self.said.len()));
        let (conversation, told) = (self.conversation(), id.clone());
        let sent = async move { conversation.send(told, message).await };
        if self.command("send", sent).await.is_some() {
            let stored = self.logs.look(self.id, |log| log.place(&id).is_some());
            self.scene.demand(stored.unwrap(), || {
                format!("invariant 2: the message {id} was acknowledged and is not stored")
            });
            self.said.push(id);
        }
    }

    async fn respond(&mut self) {
        let dice = &self.scene.dice;
        let open = self.logs.look(self.id, Log::open_actions).unwrap();
        let answer = |id: ActionId| {
            let answer = match dice.below(4) {
                0 => Answer::Reject {
                    reason: "not this".to_owned(),
                },
                1 => Answer::Edit { arguments: edit() },
                _ => Answer::Approve,
            };
            (id, answer)
        };
        let answers = open.into_iter().map(answer).collect();
        let conversation = self.conversation();
        self.command("respond", async move { conversation.respond(answers).await })
            .await;
    }

    async fn navigate(&mut self) {
        let dice = &self.scene.dice;
        let ids = self.logs.look(self.id, ids).unwrap();
        let to = (!ids.is_empty() && !dice.one_in(8)).then(|| dice.pick(&ids).clone());
        let conversation = self.conversation();
        self.command("navigate", async move { conversation.navigate(to).await })
            .await;
    }

    async fn limit(&mut self) {
        let dice = &self.scene.dice;
        let new = Limits {
            max_steps: 1 + u32::try_from(dice.below(12)).unwrap(),
            parallel_calls: 1 + dice.below(6),
            max_cost: dice.one_in(2).then(|| Money::from_picodollars(40_000_000_000)),
            ..limits()
        };
        let generous = {
            let mut now = self.life.limits.lock().unwrap();
            let before = now.clone();
            *now = Limits {
                max_steps: now.max_steps.max(new.max_steps),
                parallel_calls: now.parallel_calls.max(new.parallel_calls),
                max_cost: now.max_cost.zip(new.max_cost).map(|(a, b)| a.max(b)),
                ..limits()
            };
            before
        };
        self.scene.tell(format!("set the limits to {new:?}"));
        let (conversation, life, set) = (self.conversation(), self.life.clone(), new.clone());
        let known = self
            .patiently("set the limits", &life, async move {
                conversation.set_limits(set).await
            })
            .await;
        *life.limits.lock().unwrap() = match known {
            // Calls that were begun with more allowed may still be open.
            Some(Ok(())) => Limits {
                parallel_calls: generous.parallel_calls.max(new.parallel_calls),
                ..new
            },
            _ => generous,
        };
    }

    /// Has a copy made; now and then the one that was asked for before, as after a lost answer.
    async fn fork(&mut self) {
        let dice = &self.scene.dice;
        let ids = self.logs.look(self.id, ids).unwrap();
        let before = self.forking.clone().filter(|_| dice.one_in(2));
        let (new, copy) = before.unwrap_or_else(|| {
            let copy = Fork {
                at: (!ids.is_empty() && dice.one_in(2)).then(|| dice.pick(&ids).clone()),
                keep_stats: dice.one_in(2),
                title: None,
                request: Some(EventId::from(dice.uuid())),
            };
            let new = NewConversation {
                owner: None,
                id: ConversationId(dice.uuid()),
                created_at: SystemTime::UNIX_EPOCH,
                workspace: String::new(),
                settings: Value::Null,
            };
            (new, copy)
        });
        self.forking = Some((new.clone(), copy.clone()));
        let id = new.id;
        if dice.one_in(2) {
            let conversation = self.conversation();
            let scene = self.scene.clone();
            let forked = async move {
                let forked = conversation.fork(new, copy).await;
                let refused = matches!(forked, Err(CommandError::Store(StoreError::Exists(_))));
                scene.demand(!refused, || "a copy is refused because it was made".to_owned());
                forked
            };
            if self.command("fork", forked).await.is_some() {
                self.take_copy(id).await;
            }
            return;
        }
        let life = Arc::new(Life::new(limits(), None));
        let (store, world) = (
            self.cast.store(&life),
            SimulatedWorld {
                scene: self.scene.clone(),
                life: life.clone(),
            },
        );
        self.scene.tell("fork from the store");
        let forked = fork(&store, self.id, new, copy, &world);
        let Some(forked) = self.patiently("fork", &life, forked).await else {
            return;
        };
        if let Err(error) = forked {
            self.scene.tell(format!("fork: {error}"));
            return;
        }
        self.take_copy(id).await;
    }

    async fn take_copy(&mut self, id: ConversationId) {
        let events = self.logs.look(id, |log| log.events.len()).unwrap();
        let state = rebuilt(&self.logs, id, events).await;
        self.scene
            .demand((state.status, state.open_calls()) == (Status::Idle, 0), || {
                format!(
                    "a copy has the status {} and {} open calls",
                    state.status,
                    state.open_calls()
                )
            });
        self.copy = Some(id);
    }

    /// Another process takes the conversation over; this one lives on and does not know it.
    async fn replace(&mut self) {
        self.scene.tell("another process takes over");
        self.replaced = self.conversation.take();
        self.pending = JoinSet::new();
        self.open().await;
    }
}

pub(super) fn ids(log: &Log) -> Vec<EventId> {
    log.events.iter().map(|event| event.id.clone()).collect()
}

fn edit() -> Map<String, Value> {
    [("what".to_owned(), json!("otherwise"))].into_iter().collect()
}
