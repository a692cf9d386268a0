//! Servers elsewhere that come from two places, as if they came from one.

use std::sync::Arc;

use deft_engine::{Reached, ServersElsewhere};
use deft_types::McpApprovals;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, future};

/// Both; of two servers or tools of one name the first's counts.
pub(super) struct Joined {
    pub(super) first: Arc<dyn ServersElsewhere>,
    pub(super) second: Arc<dyn ServersElsewhere>,
}

impl ServersElsewhere for Joined {
    fn reach(&self, taken: Vec<String>, seen: McpApprovals) -> BoxStream<'static, Reached> {
        let first = self.first.reach(taken.clone(), seen.clone());
        let second = self.second.reach(taken, seen);
        let told = stream::select(first.map(|told| (0, told)), second.map(|told| (1, told)));
        let mut last: [Option<Reached>; 2] = [None, None];
        told.filter_map(move |(place, told)| {
            last[place] = Some(told);
            future::ready(match &last {
                [Some(first), Some(second)] => Some(joined(first, second)),
                _ => None, // nobody is told before each of them is ready or has failed
            })
        })
        .boxed()
    }
}

fn joined(first: &Reached, second: &Reached) -> Reached {
    let mut tools = first.tools.clone();
    for tool in &second.tools {
        if !first
            .tools
            .iter()
            .any(|one| one.spec().name() == tool.spec().name())
        {
            tools.push(tool.clone());
        }
    }
    let mut statuses = first.statuses.clone();
    for status in &second.statuses {
        if !first.statuses.iter().any(|one| one.name == status.name) {
            statuses.push(status.clone());
        }
    }
    Reached { tools, statuses }
}
