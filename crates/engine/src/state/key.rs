//! Keys of state updates that we write and read back.

pub(crate) const STATUS: &str = "execution_status";
pub(crate) const STATS: &str = "stats";
pub(crate) const LAST_USER_MESSAGE: &str = "last_user_message_id";
pub(crate) const EXECUTOR: &str = "executor";
pub(crate) const AGENT: &str = "agent";
/// What is known of an agent that is a program of its own.
pub(crate) const AGENT_STATE: &str = "agent_state";
pub(crate) const POLICY: &str = "confirmation_policy";
pub(crate) const ANALYZER: &str = "security_analyzer";
/// What the project brings along that would run if somebody agreed.
pub(crate) const UNDECIDED: &str = "undecided";
/// All that it brings along of this kind, decided about or not.
pub(crate) const PROVIDED: &str = "provided";
/// The beginnings of commands that need not be asked for.
pub(crate) const ALLOW_RULES: &str = "allow_rules";
/// The key of the hosts that programs wait for until somebody answers.
pub const HOST_QUESTIONS: &str = "host_questions";
/// What somebody has decided about a host.
pub(crate) const HOST_ANSWER: &str = "host_answer";
/// The hosts that somebody has allowed, with their ports.
pub(crate) const ALLOWED_HOSTS: &str = "allowed_hosts";
/// The same for all of the project: somebody has changed them here.
pub(crate) const PROJECT_RULES: &str = "project_allow_rules";
/// Where somebody moved the conversation to.
pub(crate) const LEAF: &str = "leaf_event_id";
/// Results that are left out of the view.
pub(crate) const MASKED: &str = "masked_results";
/// Somebody wished for room, and there is nothing to leave out.
pub(crate) const NOTHING_TO_FORGET: &str = "nothing_to_forget";
/// The workspace was recorded before a turn.
pub(crate) const CHECKPOINT: &str = "checkpoint";
/// The MCP servers that run beside the files, and how they are doing.
pub const SERVERS: &str = "mcp_servers";
/// Rules for files that were given with a result.
pub(crate) const PATH_RULES: &str = "activated_path_rules";
/// A result was criticised.
pub(crate) const CRITIC: &str = "critic";
/// Whether the agent works, or only plans.
pub(crate) const MODE: &str = "mode";
/// More may be used.
pub(crate) const ADDED: &str = "added_budget";
/// Messages that wait for the end of the turn.
pub(crate) const QUEUE: &str = "message_queue";
/// What programs of the workspace asked the network for.
pub(crate) const EGRESS: &str = "egress";
/// What was done in the workspace was done again.
pub(crate) const RERUN: &str = "rerun";
/// Messages that came while the model wrote the reply that follows.
pub(crate) const UNSEEN: &str = "unseen_message_ids";
/// The agent of a task waits for a word.
pub(crate) const TASK_WAITS: &str = "task_waits";
/// The agents that are called by name.
pub(crate) const DELEGATES: &str = "delegates";
/// What the conversation is called.
pub(crate) const TITLE: &str = "title";
/// What it is marked with.
pub(crate) const TAGS: &str = "tags";
/// The tools were given these secrets, by name.
pub(crate) const SECRETS: &str = "secrets";
/// A run may use so much from now on.
pub(crate) const LIMITS: &str = "limits";
/// Another conversation began as a copy of this one.
pub(crate) const FORKED: &str = "forked";
/// This one is the copy of another, as older versions said it.
pub(crate) const COPIED: &str = "copied";
/// Files became what they were.
pub(crate) const RESTORED: &str = "restored_files";
/// A request of a client was carried out, with its answer.
pub(crate) const REQUEST: &str = "answered_request";

/// The key of the note that a request of a client was carried out: `verb`, what was asked for, and its `answer`.
pub const ANSWERED_REQUEST: &str = REQUEST;

/// The keys of state updates that are ours: the protocol's own clients do not know them.
pub const OWN_KEYS: &[&str] = &[
    ALLOW_RULES,
    HOST_QUESTIONS,
    HOST_ANSWER,
    ALLOWED_HOSTS,
    PROJECT_RULES,
    UNDECIDED,
    PROVIDED,
    CRITIC,
    MODE,
    ADDED,
    QUEUE,
    EXECUTOR,
    UNSEEN,
    LEAF,
    MASKED,
    NOTHING_TO_FORGET,
    CHECKPOINT,
    SERVERS,
    EGRESS,
    RERUN,
    TITLE,
    SECRETS,
    LIMITS,
    RESTORED,
    FORKED,
    COPIED,
    REQUEST,
    TASK_WAITS,
    DELEGATES,
];
