//! A model that says anything: good replies, bad ones, and none. It holds each request to what providers insist on.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use deft_llm::{
    Delta, FinishReason, Messages, Model, ModelError, ModelProfile, Request, Usage, message_tokens,
};
use deft_types::{ConversationId, Money, Role, Tokens};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde_json::json;

use super::log::Logs;
use super::scene::{Life, Scene};
use super::well_formed::well_formed;

/// What a side question begins with.
pub(crate) const ASIDE: &str = "[on the side]";
/// What the view says of a call whose result a damaged log has lost.
const LOST: &str = "[The result of this call is lost.]";

/// What was asked of models so far, whichever process asked.
#[derive(Default)]
pub(crate) struct Asked {
    messages: Messages,
    reshaped: usize,
    runs: usize,
    steps: u32,
    /// What users said in them.
    heard: HashSet<String>,
    /// How many requests will still be called malformed.
    malformed: usize,
}

impl Asked {
    /// Whether a request had these words. The last one may not: what was answered can be forgotten.
    pub(crate) fn heard(&self, text: &str) -> bool {
        self.heard.contains(text)
    }

    /// What the last request said.
    pub(crate) fn last(&self) -> Vec<String> {
        self.messages.iter().map(|message| message.plain_text()).collect()
    }
}

/// See the module.
pub(crate) struct SimulatedModel {
    pub(crate) scene: Arc<Scene>,
    pub(crate) logs: Arc<Logs>,
    pub(crate) life: Arc<Life>,
    pub(crate) conversation: ConversationId,
    pub(crate) asked: Arc<Mutex<Asked>>,
    pub(crate) profile: ModelProfile,
}

impl SimulatedModel {
    pub(crate) fn profile(name: &str, window: Option<u64>) -> ModelProfile {
        ModelProfile {
            context_window: window.map(Tokens),
            ..ModelProfile::unknown(name)
        }
    }

    /// Invariants 10 and 11, and that every provider would read the request.
    fn check(&self, request: &Request) {
        let scene = &self.scene;
        let of = |log: &super::log::Log| (log.is_written_by(&self.life), log.cost, log.reshaped, log.runs);
        let Ok((is_writer, cost, reshaped, runs)) = self.logs.look(self.conversation, of) else {
            return;
        };
        if !is_writer {
            return; // it cannot know that yet
        }
        let limits = self.life.limits.lock().unwrap().clone();
        let affordable = limits.max_cost.is_none_or(|most| cost < most);
        scene.demand(affordable, || {
            format!(
                "invariant 11: the model is asked although {cost} of {:?} is spent: {:?}",
                limits.max_cost,
                request.messages.iter().last()
            )
        });
        if request.cache_key.is_none() {
            return; // a summary
        }
        if is_aside(request) {
            return;
        }
        well_formed(&request.messages)
            .unwrap_or_else(|wrong| scene.accuse(format!("the request is malformed: {wrong}")));
        let lost = request
            .messages
            .iter()
            .any(|message| message.plain_text() == LOST);
        scene.demand(!lost, || "a result in the log is lost in the request".to_owned());
        let mut asked = self.asked.lock().unwrap();
        if asked.runs != runs {
            asked.steps = 0;
        }
        asked.steps += 1;
        scene.demand(asked.steps <= limits.max_steps, || {
            format!("invariant 11: step {} of {}", asked.steps, limits.max_steps)
        });
        let grows = request.messages.starts_with(&asked.messages);
        scene.demand(grows || asked.reshaped != reshaped, || {
            let same = request.messages.iter().zip(&asked.messages);
            let same = same.take_while(|(now, before)| now == before).count();
            let (before, now) = (asked.messages.get(same), request.messages.get(same));
            format!("invariant 10: message {same} was {before:?} and is {now:?}")
        });
        let said = request.messages.iter().filter(|said| said.role == Role::User);
        asked.heard.extend(said.map(|said| said.plain_text()));
        *asked = Asked {
            heard: std::mem::take(&mut asked.heard),
            messages: request.messages.clone(),
            reshaped,
            runs,
            steps: asked.steps,
            malformed: asked.malformed,
        };
    }

    fn answer(&self, request: &Request) -> Vec<Result<Delta, ModelError>> {
        let dice = &self.scene.dice;
        let plain = request.cache_key.is_none() || is_aside(request);
        if self.scene.is_calm() {
            return whole(vec![Delta::Text("done".to_owned())], FinishReason::Stop);
        }
        let tokens: u64 = request
            .messages
            .iter()
            .map(|message| message_tokens(message).0)
            .sum();
        let window = self.profile.context_window.map_or(u64::MAX, |window| window.0);
        if tokens > window || dice.one_in(40) {
            let detail = format!("{tokens} tokens are too many");
            return vec![Err(ModelError::ContextWindowExceeded { detail })];
        }
        if !plain && self.calls_it_malformed() {
            let detail = "results do not follow their calls".to_owned();
            return vec![Err(ModelError::MalformedHistory { detail })];
        }
        let text = |text: &str| Delta::Text(text.to_owned());
        match dice.below(20) {
            0 => vec![Err(dice.pick(&errors()).clone())],
            1 => vec![Ok(text("a reply that breaks"))],
            2 => whole(Vec::new(), FinishReason::Stop),
            3 => whole(vec![Delta::Reasoning("hm".to_owned())], FinishReason::Stop),
            4 => whole(vec![text("a very long answer")], FinishReason::Length),
            5 => whole(Vec::new(), FinishReason::ContentFilter),
            6 => {
                let reason = "it broke".to_owned();
                let again = Delta::Retry {
                    attempt: 2,
                    wait: Duration::ZERO,
                    reason,
                };
                whole(
                    vec![text("void"), self.usage(), again, text("an answer")],
                    FinishReason::Stop,
                )
            }
            7..=8 if plain => {
                let verdict = text(r#"{"score": 0.4, "message": "more"}"#);
                whole(vec![verdict, self.usage()], FinishReason::Stop)
            }
            7..=8 => whole(vec![text("an answer"), self.usage()], FinishReason::Stop),
            _ if plain => {
                let length = if dice.one_in(3) { 5_000 } else { 1 };
                let said = text(&"in short: all is well ".repeat(length));
                whole(vec![said, self.usage()], FinishReason::Stop)
            }
            _ => self.calls(),
        }
    }

    /// Sometimes a server does not accept a history, and goes on not to accept it for a while.
    fn calls_it_malformed(&self) -> bool {
        let mut asked = self.asked.lock().unwrap();
        if self.scene.dice.one_in(60) {
            asked.malformed = 1 + self.scene.dice.below(5);
        }
        let malformed = asked.malformed > 0;
        asked.malformed = asked.malformed.saturating_sub(1);
        malformed
    }

    fn usage(&self) -> Delta {
        let dice = &self.scene.dice;
        Delta::Usage(Usage {
            prompt: Tokens(dice.below(2_000) as u64),
            cost: (!dice.one_in(5)).then(|| Money::from_picodollars(10_000_000_000)),
            ..Usage::default()
        })
    }

    fn calls(&self) -> Vec<Result<Delta, ModelError>> {
        let dice = &self.scene.dice;
        let many = if dice.one_in(30) { 40 } else { 4 };
        let mut deltas = vec![self.usage()];
        if dice.one_in(2) {
            deltas.push(Delta::Text("I go on.".to_owned()));
        }
        for index in 0..=dice.below(many) {
            let (name, arguments) = self.call();
            let id = match dice.below(8) {
                0 => "call_1".to_owned(),
                1 => String::new(),
                _ => format!("call_{}", dice.uuid().simple()),
            };
            let head = arguments.floor_char_boundary(arguments.len() / 2);
            deltas.push(Delta::ToolCall {
                index,
                id: Some(id),
                name: Some(name.to_owned()),
                arguments: arguments[..head].to_owned(),
                item_id: None,
            });
            deltas.push(Delta::ToolCall {
                index,
                id: None,
                name: None,
                arguments: arguments[head..].to_owned(),
                item_id: None,
            });
        }
        let finish = [FinishReason::ToolCalls, FinishReason::Stop, FinishReason::Length];
        let finish = if dice.one_in(10) {
            *dice.pick(&finish)
        } else {
            FinishReason::ToolCalls
        };
        let id = if dice.one_in(8) {
            "r".to_owned()
        } else {
            dice.uuid().to_string()
        };
        deltas.insert(0, Delta::Started { response_id: id });
        whole(deltas, finish)
    }

    fn call(&self) -> (&'static str, String) {
        let dice = &self.scene.dice;
        let what = json!({"what": format!("thing {}", dice.below(3)), "security_risk": "LOW"}).to_string();
        match dice.below(20) {
            0 => ("finish", json!({"message": "all done"}).to_string()),
            1 => ("teleport", what),
            // Nobody gives tasks in most stories, and then it is a tool that there is not.
            12 => ("task", self.task()),
            2 => ("act", "{\"what\": \"cut".to_owned()),
            3 => ("act", "[1]".to_owned()),
            4 => ("a b\u{e9}", String::new()),
            5 | 6 => ("think", json!({"thought": "hm"}).to_string()),
            7 | 8 => ("ponder", what),
            9..=11 => ("look", what),
            13 => ("far", what),
            14 => ("invoke_skill", json!({"name": "ship"}).to_string()),
            _ => ("act", what),
        }
    }

    /// A new task, or one that may have been given before.
    fn task(&self) -> String {
        let dice = &self.scene.dice;
        let mut task = json!({"prompt": "do a part of it", "security_risk": "LOW"});
        if dice.one_in(3) {
            task["resume"] = json!(format!("task_{}", dice.below(3)));
        }
        task.to_string()
    }
}

impl Model for SimulatedModel {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        if !self.life.dead.is_cancelled() {
            self.check(&request);
        }
        let most = if self.scene.fault(25) { 20_000 } else { 30 };
        let most = Duration::from_millis(most);
        let (scene, life) = (self.scene.clone(), self.life.clone());
        let told = stream::iter(self.answer(&request)).then(move |delta| {
            let (scene, life) = (scene.clone(), life.clone());
            async move {
                life.survive(scene.pass(most)).await;
                delta
            }
        });
        told.boxed()
    }
}

fn is_aside(request: &Request) -> bool {
    let last = request.messages.last();
    last.is_some_and(|message| message.plain_text().starts_with(ASIDE))
}

fn whole(deltas: Vec<Delta>, finish: FinishReason) -> Vec<Result<Delta, ModelError>> {
    let end = std::iter::once(Delta::Finished(finish));
    deltas.into_iter().chain(end).map(Ok).collect()
}

fn errors() -> Vec<ModelError> {
    let detail = || "so it is".to_owned();
    vec![
        ModelError::MalformedHistory { detail: detail() },
        ModelError::Authentication { detail: detail() },
        ModelError::Quota { detail: detail() },
        ModelError::RateLimit {
            retry_after: None,
            detail: detail(),
        },
        ModelError::Overloaded {
            retry_after: None,
            detail: detail(),
        },
        ModelError::Timeout { detail: detail() },
        ModelError::ContentPolicy { detail: detail() },
        ModelError::Network { detail: detail() },
        ModelError::Protocol { detail: detail() },
    ]
}
