//! Tells what programs have asked the network for.

use deft_types::{Content, EventBody, Source};
use serde_json::json;

use super::Actor;
use crate::egress::Egress;
use crate::state::{self, key};
use crate::turn::Draft;

impl Actor {
    /// The event of what was asked for since the last one, if anything was. What was refused is told with the result of
    /// the call: of a tunnel that was not opened programs show no reason.
    pub(super) async fn requested(&mut self, result: Option<&mut Draft>) -> Option<Draft> {
        let told = Egress::of(self.workspace.requests(self.state.requested_until).await)?;
        let observed = result.and_then(|draft| match &mut draft.body {
            EventBody::Observation(observed) => Some(observed),
            _ => None,
        });
        if let Some((observed, refusal)) = observed.zip(told.refusal()) {
            observed.extended_content.push(Content::text(refusal));
        }
        let update = state::update(key::EGRESS, json!(told));
        Some(Draft::new(Source::Environment, update))
    }
}
