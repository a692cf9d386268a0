//! Tells what programs have asked the network for.

use deft_types::Source;
use serde_json::json;

use super::Actor;
use crate::egress::Egress;
use crate::state::{self, key};
use crate::turn::Draft;

impl Actor {
    /// The event of what was asked for since the last one, if anything was.
    pub(super) async fn requested(&mut self) -> Option<Draft> {
        let told = Egress::of(self.workspace.requests(self.state.requested_until).await)?;
        let update = state::update(key::EGRESS, json!(told));
        Some(Draft::new(Source::Environment, update))
    }
}
