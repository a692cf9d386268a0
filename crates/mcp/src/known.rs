//! What is known of a server, and what it is held to.

use std::sync::Arc;

use deft_types::{McpChange, McpPin};

use crate::limits::MAX_PINNED;
use crate::listing::Listed;
use crate::pin::diff;

/// What is known of all servers, by their places in the configuration.
pub(crate) type States = Vec<Known>;

/// What is known of a server now.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) state: State,
    /// The digest of its command line or address.
    target: String,
    /// What was approved of it, or what it said first of itself and of each tool.
    pub(crate) approved: Option<McpPin>,
    /// Whether nothing was approved: a tool that was never seen is then taken as it is.
    is_new: bool,
}

/// How far a server is.
#[derive(Clone, Debug)]
pub(crate) enum State {
    /// It is being started.
    Connecting,
    /// It has answered; it may have died since, which the next call finds out.
    Ready(Arc<Offer>),
    /// It could not be started.
    Failed(String),
    /// Its command line or address is not the approved one: it is not started.
    Unapproved,
}

/// What a server offers.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) tools: Vec<Listed>,
    pub(crate) pin: McpPin,
    pub(crate) notes: Vec<String>,
}

impl Known {
    /// A server with this command line or address, before it is started.
    pub(crate) fn new(approved: Option<McpPin>, target: String) -> Self {
        let is_approved = approved.as_ref().is_none_or(|pin| pin.target == target);
        Self {
            is_new: approved.is_none(),
            approved,
            target,
            state: if is_approved {
                State::Connecting
            } else {
                State::Unapproved
            },
        }
    }

    /// It has said what it offers.
    pub(crate) fn offer(&mut self, tools: Vec<Listed>, pin: McpPin, notes: Vec<String>) {
        if self.is_new {
            let held = self.approved.get_or_insert_with(|| McpPin {
                target: pin.target.clone(),
                ..McpPin::default()
            });
            for (name, digest) in &pin.tools {
                if held.tools.len() < MAX_PINNED {
                    held.tools.entry(name.clone()).or_insert_with(|| digest.clone());
                }
            }
        }
        self.state = State::Ready(Arc::new(Offer { tools, pin, notes }));
    }

    pub(crate) fn fail(&mut self, reason: String) {
        self.state = State::Failed(reason);
    }

    /// Whether it runs, or does not, as it should with this approval.
    pub(crate) fn may_be_held_to(&self, pin: &McpPin) -> bool {
        let runs = !matches!(self.state, State::Unapproved);
        runs == (pin.target == self.target)
    }

    /// Holds it to this from now on; whether that is news.
    pub(crate) fn hold_to(&mut self, pin: &McpPin) -> bool {
        let is_news = self.approved.as_ref() != Some(pin);
        self.is_new = false;
        self.approved = Some(pin.clone());
        is_news
    }

    /// How it differs from what it is held to.
    pub(crate) fn what(&self) -> Vec<McpChange> {
        match (&self.state, &self.approved) {
            (State::Ready(offer), Some(approved)) => diff(approved, &offer.pin),
            (State::Unapproved, _) => vec![McpChange::Target],
            (State::Ready(_) | State::Connecting | State::Failed(_), _) => Vec::new(),
        }
    }

    /// What a person approves of it: of one that was not started, that it may be.
    pub(crate) fn pin(&self) -> Option<McpPin> {
        match &self.state {
            State::Ready(offer) => Some(offer.pin.clone()),
            State::Unapproved => self.approved.clone().map(|pin| McpPin {
                target: self.target.clone(),
                ..pin
            }),
            State::Connecting | State::Failed(_) => None,
        }
    }

    /// Whether it has the tool of this digest now.
    pub(crate) fn has(&self, tool: &str, digest: &str) -> bool {
        match &self.state {
            State::Ready(offer) => offer.pin.tools.get(tool).is_some_and(|now| now == digest),
            State::Connecting | State::Failed(_) | State::Unapproved => false,
        }
    }
}
