//! The MCP servers that a conversation of a client has, and the agents below it.

use std::sync::Arc;

use deft_engine::{OfProject, Reached, Servers, ServersElsewhere, ToolFilter};
use deft_types::McpApprovals;
use futures::stream::BoxStream;

/// The MCP servers of a conversation.
#[derive(Clone, Default)]
pub struct McpOutfit {
    /// Those that run beside the files.
    pub beside: Option<Servers>,
    /// Those that are reached from here.
    pub elsewhere: Option<Arc<dyn ServersElsewhere>>,
    /// Which of their tools are offered, by their names; all of them where nobody says.
    pub filter: Option<ToolFilter>,
    /// Whether those that plugins and skills of the workspace bring along count as well.
    pub of_project: OfProject,
}

impl McpOutfit {
    /// The same for an agent with a task: a server is held to what it was for the one above.
    #[must_use]
    pub fn held_to(mut self, seen: &McpApprovals) -> Self {
        if let Some(beside) = &mut self.beside {
            beside.approvals.extend(seen.clone());
        }
        self.elsewhere = self.elsewhere.map(|servers| -> Arc<dyn ServersElsewhere> {
            Arc::new(HeldTo {
                servers,
                seen: seen.clone(),
            })
        });
        self
    }
}

struct HeldTo {
    servers: Arc<dyn ServersElsewhere>,
    seen: McpApprovals,
}

impl ServersElsewhere for HeldTo {
    fn reach(&self, taken: Vec<String>, mut seen: McpApprovals) -> BoxStream<'static, Reached> {
        seen.extend(self.seen.clone());
        self.servers.reach(taken, seen)
    }
}
