//! Where agents with tasks of their own come from.

use deft_skills::AgentDefinition;
use deft_types::{Content, EventId, Isolation, OF_TASKS, Stats};
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::above::Above;
use crate::command::ExecutorFate;
use crate::conversation::Conversation;

/// Where agents of their own come from.
pub trait SubAgents: Send + Sync {
    /// The kinds there are.
    fn kinds(&self) -> Vec<SubAgentKind>;

    /// Those that were given tasks, and those below them, by their logs. Asked by a conversation whose process died while
    /// one was at work.
    fn begun(&self) -> BoxFuture<'_, Result<Vec<BegunTask>, String>>;

    /// Opens the conversation of one. The sentence of a failure goes to the model; nothing is left of what was begun.
    fn open<'a>(&'a self, order: Order<'a>) -> BoxFuture<'a, Result<SubAgent, String>>;
}

/// The agent that is wanted.
pub struct Order<'a> {
    /// Its kind.
    pub kind: &'a str,
    /// What more is said of a kind that is none of ours.
    pub definition: Option<&'a AgentDefinition>,
    /// The skills that stand in its prompt whole, as the definition wants.
    pub skills: Vec<String>,
    /// The earlier task that it is to go on with; a new one otherwise.
    pub resume: Option<&'a str>,
    /// Whether a new one works on a branch of its own.
    pub isolation: Isolation,
    /// Who gives the task.
    pub above: &'a Above,
    /// Nobody wants it any more.
    pub cancel: &'a CancellationToken,
}

/// A task that some agent was given.
pub struct BegunTask {
    /// What its use is counted as.
    pub usage_id: String,
    /// What it has used.
    pub stats: Stats,
    /// The id of what it was last told.
    pub told: Option<EventId>,
}

/// The branch that an agent works on alone.
pub trait OwnBranch: Send + Sync {
    /// Puts what it did into the repository, and clears away where it worked. Says where to find it, in words for whoever
    /// gave the task.
    fn keep(&self) -> BoxFuture<'_, String>;
}

/// What the use of the agent of a task is counted as.
pub fn usage_of_task(task_id: &str) -> String {
    format!("{OF_TASKS}{task_id}")
}

/// The task whose use is counted so, unless it is one of an agent below.
pub(crate) fn task_of_usage(usage_id: &str) -> Option<&str> {
    let task = usage_id.strip_prefix(OF_TASKS)?;
    (!task.contains(':')).then_some(task)
}

/// A kind of agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubAgentKind {
    /// What it is called by.
    pub name: String,
    /// What it is for.
    pub description: String,
}

/// An agent with a task of its own.
pub struct SubAgent {
    /// By which the task can be taken up again.
    pub task_id: String,
    /// Its conversation.
    pub conversation: Conversation,
    /// Where it works, if that is not where everybody does.
    pub own_branch: Option<Box<dyn OwnBranch>>,
}

impl SubAgent {
    /// Ends what it started, and keeps what it did on a branch of its own; says where that is.
    pub(crate) async fn end(&self) -> Option<Content> {
        let kept = match &self.own_branch {
            Some(branch) => Some(branch.keep().await), // also what was done until it was stopped
            None => None,
        };
        self.conversation.close(ExecutorFate::End).await;
        kept.map(Content::text)
    }
}
