//! Why commands are refused.

use deft_types::{ActionId, EventId};

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// Nothing was stored and nothing has changed. Mend what the message names and ask again.
    #[error(transparent)]
    Store(#[from] deft_store::StoreError),
    /// The conversation is not in memory any more. Open it again.
    #[error("the conversation was closed; open it again")]
    Closed,
    /// An answer for an action that does not wait. Look again at what waits.
    #[error("the action {0} does not wait for an answer: it was answered before, or never asked for one")]
    NotWaiting(ActionId),
    /// Nothing was done: decide about this one too.
    #[error("the action {0} waits as well; answer all of them at once")]
    Undecided(ActionId),
    /// Nothing was done: mend the arguments.
    #[error("the changed call does not fit its tool. {0}")]
    BadEdit(String),
    /// The rule is none that can be kept; the message says why.
    #[error("{0}")]
    BadRule(String),
    /// Look again at what is asked.
    #[error("nothing waits for {0}: it was answered meanwhile, or nobody answered in time")]
    NotAsked(String),
    /// Take some back first.
    #[error("there are {0} allow rules already; remove some first")]
    TooManyRules(usize),
    /// It runs: pause or interrupt it first.
    #[error("the conversation is running; pause or interrupt it first")]
    Running,
    /// So many commands wait until files are restored that this one cannot: ask again then.
    #[error("files are being restored, and {0} requests wait for that already; ask again when it is done")]
    TooManyWait(usize),
    /// Its turns are made by our own agent: switch that one's model.
    #[error("the agent of this conversation is no program of its own; switch its model instead")]
    NotExternal,
    /// The agent could not do it; the message says why.
    #[error("{0}")]
    Agent(String),
    /// It was stopped before it was done. Ask again if it is still wanted.
    #[error("it was interrupted before it was done; ask again if it is still wanted")]
    Interrupted,
    /// Nothing may be spent any more: raise the budget first.
    #[error("{0}")]
    BudgetSpent(String),
    /// The workspace could not do it; the message says why.
    #[error("{0}")]
    Workspace(String),
    /// Nothing was changed: go back to the beginning of the turn.
    #[error(
        "what the files were like there was not recorded, for that is done once a turn, before its first change; nothing was \
         changed"
    )]
    InTurn,
    /// Nothing was approved: look again at what the server is.
    #[error("the MCP server {0:?} is not what was to be approved; look at it again")]
    OtherServer(String),
    /// It was said meanwhile, taken out, or never there. Look again at what waits.
    #[error("the message {0} does not wait: it was said meanwhile, or taken out")]
    NotQueued(EventId),
    /// Nothing was added: take something out first.
    #[error("{0} messages wait already; take some out before you add one")]
    QueueFull(usize),
    /// The log has no such event.
    #[error("the conversation has no event {0}")]
    NoSuchEvent(EventId),
    /// An event with this id is there but is another one. Choose a new id.
    #[error("the id {0} is already taken by something else; ask again with a new id")]
    IdTaken(EventId),
    /// It was done before, and a later version of this program noted what came of it.
    #[error("it was done before, but this version cannot read what was answered; look at the conversation")]
    Unanswerable,
    /// A title needs a word.
    #[error("a title must have a letter or a digit; give another one")]
    NoTitle,
}
