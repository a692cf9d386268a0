//! What a client says of an agent, beside its model.

use crate::fields::{Gap, Kind, Object, Others, Table, Tagged};
use crate::model_fields;

const COUNT: Kind = Kind::Integer { least: Some(0) };
const SIZE: Kind = Kind::Integer { least: Some(1) };
const SHARE: Kind = Kind::Number { most: Some(1.0) };
const AMOUNT: Kind = Kind::Number { most: None };
const TEXTS: Kind = Kind::List(&Kind::Text);

/// An agent of ours.
#[rustfmt::skip]
pub(crate) const AGENT: &Table = &[
    ("tools", TOOLS, Gap::Absent),
    ("mcp_config", SERVERS, Gap::Null),
    ("filter_tools_regex", Kind::Text, Gap::Null),
    ("include_default_tools", TEXTS, Gap::Absent),
    ("agent_context", CONTEXT, Gap::Null),
    ("system_prompt", Kind::Text, Gap::Null),
    ("system_prompt_filename", Kind::Text, Gap::Absent),
    ("security_policy_filename", Kind::Text, Gap::Null),
    ("condenser", CONDENSER, Gap::Null),
    ("critic", CRITIC, Gap::Null),
    ("tool_concurrency_limit", SIZE, Gap::Absent),
    ("persona", Kind::Text, Gap::Null),
];

/// An agent that is a program of its own.
#[rustfmt::skip]
pub(crate) const EXTERNAL: &Table = &[
    ("mcp_config", SERVERS, Gap::Null),
    ("agent_context", CONTEXT, Gap::Null),
    ("acp_command", TEXTS, Gap::None),
    ("acp_server", Kind::Text, Gap::Null),
    ("acp_args", TEXTS, Gap::Absent),
    ("acp_session_mode", Kind::Text, Gap::Null),
    ("acp_prompt_timeout", AMOUNT, Gap::Absent),
    ("acp_startup_timeout", AMOUNT, Gap::Absent),
    ("acp_model", Kind::Text, Gap::Null),
    ("acp_resume_session_id", Kind::Text, Gap::Null),
    ("acp_isolate_data_dir", Kind::Switch, Gap::Absent),
];

/// Settings that an agent is made of. Those of programs may name their command in a text.
#[rustfmt::skip]
pub(crate) const SETTINGS: &Table = &[
    ("agent_kind", AGENT_KINDS, Gap::Absent),
    ("llm", MODEL, Gap::Absent),
    ("tools", TOOLS, Gap::Null),
    ("tool_concurrency_limit", SIZE, Gap::Absent),
    ("mcp_config", SERVERS, Gap::Null),
    ("persona", Kind::Text, Gap::Null),
    ("agent_context", CONTEXT, Gap::Null),
    ("condenser", Kind::Object(&SUMMARY_SETTINGS), Gap::Null),
    ("verification", Kind::Object(&VERIFICATION), Gap::Null),
    ("acp_command", Kind::TextOr(&TEXTS), Gap::Null),
    ("acp_args", TEXTS, Gap::Null),
    ("acp_prompt_timeout", Kind::Positive, Gap::Absent),
    ("acp_startup_timeout", Kind::Positive, Gap::Absent),
];

/// `llm` is what the first kind was called once.
const AGENT_KINDS: Kind = Kind::OneOf(&["openhands", "acp", "llm"]);

/// A description of an agent that has a name.
#[rustfmt::skip]
pub(crate) const PROFILE: &Table = &[
    ("schema_version", SIZE, Gap::Absent),
    ("agent_kind", AGENT_KINDS, Gap::Absent),
    ("id", Kind::Text, Gap::Null),
    ("name", Kind::Text, Gap::Null),
    ("revision", COUNT, Gap::Absent),
    ("mcp_server_refs", TEXTS, Gap::Null),
    ("secret_refs", TEXTS, Gap::Null),
    ("llm_profile_ref", Kind::Text, Gap::Null),
    ("agent", Kind::Text, Gap::Absent),
    ("tools", Kind::List(&Kind::TextOr(&TOOL)), Gap::Null),
    ("persona", Kind::Text, Gap::Null),
    ("system_message_suffix", Kind::Text, Gap::Null),
    ("disabled_skills", TEXTS, Gap::Absent),
    ("public_skills", TEXTS, Gap::Null),
    ("condenser", Kind::Object(&SUMMARY_SETTINGS), Gap::Absent),
    ("verification", Kind::Object(&VERIFICATION), Gap::Absent),
    ("enable_classify_and_switch_llm_tool", Kind::Switch, Gap::Absent),
    ("meta_profile_ref", Kind::Text, Gap::Null),
    ("tool_concurrency_limit", SIZE, Gap::Absent),
];

/// The same of one that is a program of its own.
#[rustfmt::skip]
pub(crate) const EXTERNAL_PROFILE: &Table = &[
    ("schema_version", SIZE, Gap::Absent),
    ("agent_kind", AGENT_KINDS, Gap::Absent),
    ("id", Kind::Text, Gap::Null),
    ("name", Kind::Text, Gap::Null),
    ("revision", COUNT, Gap::Absent),
    ("mcp_server_refs", TEXTS, Gap::Null),
    ("secret_refs", TEXTS, Gap::Null),
    ("acp_server", Kind::Text, Gap::Absent),
    ("acp_model", Kind::Text, Gap::Null),
    ("acp_session_mode", Kind::Text, Gap::Null),
    ("acp_prompt_timeout", Kind::Positive, Gap::Absent),
    ("acp_startup_timeout", Kind::Positive, Gap::Absent),
    ("acp_command", Kind::TextOr(&TEXTS), Gap::Null),
    ("acp_args", TEXTS, Gap::Null),
];

/// One MCP server of the settings.
#[rustfmt::skip]
pub(crate) const SERVER: &Table = &[
    ("url", FILLED, Gap::Null),
    ("command", FILLED, Gap::Null),
    ("args", TEXTS, Gap::Null),
    ("env", Kind::Hidden(&Kind::Map), Gap::Null),
    ("cwd", Kind::Text, Gap::Null),
    ("description", Kind::Text, Gap::Null),
    ("icon", Kind::Text, Gap::Null),
    ("timeout", AMOUNT, Gap::Null),
    ("sse_read_timeout", AMOUNT, Gap::Null),
    ("keep_alive", Kind::Switch, Gap::Null),
    ("headers", Kind::Hidden(&Kind::Map), Gap::Null),
    ("enabled", Kind::Switch, Gap::Null),
];
const FILLED: Kind = Kind::Sized {
    least: 1,
    most: usize::MAX,
};

const MODEL: Kind = Kind::Object(&Object {
    class: Some("LLM"),
    fields: model_fields::FIELDS,
    others: Others::Kept,
});

const TOOLS: Kind = Kind::List(&TOOL);
const TOOL: Kind = Kind::Object(&Object {
    class: Some("Tool"),
    fields: &[("name", Kind::Text, Gap::None), ("params", Kind::Map, Gap::Null)],
    others: Others::Kept,
});

/// What is in each is read by whoever reaches it, who knows more forms than the contract.
const SERVERS: Kind = Kind::Each(&Kind::Object(&Object {
    class: Some("MCPServer"),
    fields: &[],
    others: Others::Kept,
}));

#[rustfmt::skip]
const CONTEXT: Kind = Kind::Object(&Object {
    class: Some("AgentContext"),
    fields: &[
        ("skills", SKILLS, Gap::Absent),
        ("system_message_suffix", Kind::Text, Gap::Null),
        ("user_message_suffix", Kind::Text, Gap::Null),
        ("load_user_skills", Kind::Switch, Gap::Absent),
        ("load_public_skills", Kind::Switch, Gap::Absent),
        ("marketplace_path", Kind::Text, Gap::Null),
        ("registered_marketplaces", Kind::List(&Kind::Map), Gap::Absent),
        ("load_project_skills", Kind::Switch, Gap::Absent),
        ("load_memory", Kind::Switch, Gap::Absent),
        ("memory_context", Kind::Text, Gap::Null),
        ("disabled_skills", TEXTS, Gap::Null),
        ("secrets", Kind::Hidden(&Kind::Map), Gap::Null),
    ],
    others: Others::Kept,
});

#[rustfmt::skip]
pub(crate) const SKILLS: Kind = Kind::List(&Kind::Object(&Object {
    class: Some("Skill"),
    fields: &[
        ("name", Kind::Text, Gap::None),
        ("content", Kind::Text, Gap::None),
        ("trigger", Kind::Map, Gap::Null),
        ("source", Kind::Text, Gap::Null),
        ("inputs", Kind::List(&Kind::Map), Gap::Absent),
        ("is_agentskills_format", Kind::Switch, Gap::Absent),
        ("description", Kind::Text, Gap::Null),
        ("allowed_tools", Kind::TextOr(&TEXTS), Gap::Null),
        ("disable_model_invocation", Kind::Switch, Gap::Absent),
    ],
    others: Others::Kept,
}));

/// The contract knows three kinds of them, and we a few more.
static CONDENSERS: Tagged = Tagged {
    class: Some("CondenserBase"),
    unknown: "Unknown kind '{}' for openhands.sdk.context.condenser.base.CondenserBase; \
        Expected one of: ['LLMSummarizingCondenser', 'NoOpCondenser', 'PipelineCondenser']",
    kinds: &[
        ("LLMSummarizingCondenser", SUMMARY),
        ("StructuredSummaryCondenser", SUMMARY),
        ("NoOpCondenser", &[]),
        (
            "PipelineCondenser",
            &[("condensers", Kind::List(&Kind::Tagged(&CONDENSERS)), Gap::None)],
        ),
        ("ObservationMaskingCondenser", &[]),
        ("BrowserOutputCondenser", &[]),
        ("RecentEventsCondenser", &[]),
        ("AmortizedForgettingCondenser", &[]),
        ("ConversationWindowCondenser", &[]),
    ],
    without: None,
};

#[rustfmt::skip]
const SUMMARY: &Table = &[
    ("llm", MODEL, Gap::None),
    ("max_size", SIZE, Gap::Absent),
    ("max_tokens", Kind::Integer { least: None }, Gap::Null),
    ("keep_first", COUNT, Gap::Absent),
    ("minimum_progress", SHARE, Gap::Absent),
    ("hard_context_reset_max_retries", SIZE, Gap::Absent),
    ("hard_context_reset_context_scaling", SHARE, Gap::Absent),
];

#[rustfmt::skip]
const SUMMARY_SETTINGS: Object = Object {
    class: Some("LLMSummarizingCondenserSettings"),
    fields: &[
        ("condenser_kind", Kind::OneOf(&["llm_summarizing", "no_op"]), Gap::Absent),
        ("enabled", Kind::Switch, Gap::Absent),
        ("max_size", Kind::Integer { least: Some(20) }, Gap::Absent),
        ("max_tokens", SIZE, Gap::Null),
        ("keep_first", COUNT, Gap::Absent),
        ("minimum_progress", SHARE, Gap::Absent),
        ("hard_context_reset_max_retries", SIZE, Gap::Absent),
        ("hard_context_reset_context_scaling", SHARE, Gap::Absent),
    ],
    others: Others::Kept,
};

#[rustfmt::skip]
const VERIFICATION: Object = Object {
    class: Some("VerificationSettings"),
    fields: &[
        ("critic_enabled", Kind::Switch, Gap::Absent),
        ("critic_mode", MODES, Gap::Absent),
        ("enable_iterative_refinement", Kind::Switch, Gap::Absent),
        ("critic_threshold", SHARE, Gap::Absent),
        ("max_refinement_iterations", SIZE, Gap::Absent),
        ("critic_api_key", Kind::Hidden(&Kind::SomeText), Gap::Null),
    ],
    others: Others::Kept,
};

const CRITIC: Kind = Kind::Tagged(&Tagged {
    class: Some("CriticBase"),
    unknown: "Unknown kind '{}' for openhands.sdk.critic.base.CriticBase; \
        Expected one of: ['AgentFinishedCritic', 'APIBasedCritic', 'EmptyPatchCritic', 'PassCritic']",
    kinds: &[
        ("AgentFinishedCritic", CRITICISM),
        ("APIBasedCritic", CRITICISM),
        ("EmptyPatchCritic", CRITICISM),
        ("PassCritic", CRITICISM),
    ],
    without: None,
});

const MODES: Kind = Kind::OneOf(&["finish_and_message", "all_actions"]);

#[rustfmt::skip]
const CRITICISM: &Table = &[
    ("api_key", Kind::Hidden(&Kind::SomeText), Gap::Null),
    ("mode", MODES, Gap::Absent),
    ("iterative_refinement", Kind::Object(&Object {
        class: Some("IterativeRefinementConfig"),
        fields: &[("success_threshold", SHARE, Gap::Absent), ("max_iterations", SIZE, Gap::Absent)],
        others: Others::Kept,
    }), Gap::Null),
];

const CONDENSER: Kind = Kind::Tagged(&CONDENSERS);
