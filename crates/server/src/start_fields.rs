//! What a client says of a conversation that it begins, beside its agent.

use crate::agent_fields::SKILLS;
use crate::fields::{Gap, Kind, Object, Others, Table, Tagged};

/// The longest hint for a title and the longest addition to a prompt, in characters.
const MAX_HINT: usize = 2000;
const MAX_ADDITION: usize = 32_768;
const RISKS: Kind = Kind::EnumOf(&["UNKNOWN", "LOW", "MEDIUM", "HIGH"]);

/// The fields of a start request that need nothing else to be understood.
#[rustfmt::skip]
pub(crate) const START: &Table = &[
    ("worktree", Kind::Switch, Gap::Absent),
    ("worktree_options", WORKTREE, Gap::Null),
    ("confirmation_policy", POLICY, Gap::Absent),
    ("security_analyzer", ANALYZER, Gap::Null),
    ("max_iterations", Kind::Integer { least: Some(1) }, Gap::Absent),
    ("stuck_detection", Kind::Switch, Gap::Absent),
    ("secrets", SECRETS, Gap::Absent),
    ("secrets_encrypted", Kind::Switch, Gap::Absent),
    ("tool_module_qualnames", Kind::Each(&Kind::Text), Gap::Absent),
    ("client_tools", CLIENT_TOOLS, Gap::Absent),
    ("agent_launch_additions", ADDITIONS, Gap::Null),
    ("agent_definitions", AGENTS, Gap::Absent),
    ("plugins", PLUGINS, Gap::Null),
    ("hook_config", Kind::Object(&ANYTHING), Gap::Null),
    ("user_id", Kind::Text, Gap::Null),
    ("autotitle", Kind::Switch, Gap::Absent),
    ("title_llm_profile", Kind::Text, Gap::Null),
    ("prompt", Kind::Sized { least: 0, most: MAX_HINT }, Gap::Null),
    ("agent_profile_id", Kind::Text, Gap::Null),
    ("conversation_runtime", Kind::OneOf(&["local", "docker"]), Gap::Null),
    ("container", CONTAINER, Gap::Null),
];

/// Which actions are to wait for a person's word.
pub(crate) const POLICY: Kind = Kind::Tagged(&Tagged {
    class: None,
    unknown: "Unknown kind '{}' for openhands.sdk.security.confirmation_policy.ConfirmationPolicyBase; \
        Expected one of: ['AlwaysConfirm', 'ConfirmRisky', 'NeverConfirm']",
    kinds: &[
        ("AlwaysConfirm", &[]),
        (
            "ConfirmRisky",
            &[
                ("threshold", RISKS, Gap::Absent),
                ("confirm_unknown", Kind::Switch, Gap::Absent),
            ],
        ),
        ("NeverConfirm", &[]),
    ],
    without: None,
});

const MONITOR: &Table = &[
    ("timeout", Kind::Number { most: None }, Gap::Absent),
    ("low_threshold", Kind::Number { most: Some(1.0) }, Gap::Absent),
    ("medium_threshold", Kind::Number { most: Some(1.0) }, Gap::Absent),
    ("api_url", Kind::Text, Gap::Absent),
    ("api_key", Kind::Hidden(&Kind::Text), Gap::Null),
    ("policy_id", Kind::Text, Gap::Null),
];

/// Who judges how risky an action is.
static ANALYZERS: Tagged = Tagged {
    class: None,
    unknown: "Unknown kind '{}' for openhands.sdk.security.analyzer.SecurityAnalyzerBase; \
        Expected one of: ['PatternSecurityAnalyzer', 'PolicyRailSecurityAnalyzer', 'EnsembleSecurityAnalyzer', \
        'GraySwanAnalyzer', 'LLMSecurityAnalyzer', 'ToolShieldLLMSecurityAnalyzer']",
    kinds: &[
        ("PatternSecurityAnalyzer", &[]),
        ("PolicyRailSecurityAnalyzer", &[]),
        (
            "EnsembleSecurityAnalyzer",
            &[
                ("analyzers", Kind::List(&Kind::Tagged(&ANALYZERS)), Gap::None),
                ("propagate_unknown", Kind::Switch, Gap::Absent),
            ],
        ),
        ("GraySwanAnalyzer", MONITOR),
        ("LLMSecurityAnalyzer", &[]),
        ("ToolShieldLLMSecurityAnalyzer", &[]),
    ],
    without: None,
};
pub(crate) const ANALYZER: Kind = Kind::Tagged(&ANALYZERS);

/// Secrets by name: each a text, or where the text is.
pub(crate) const SECRETS: Kind = Kind::Hidden(&Kind::Each(&Kind::TextOr(&Kind::Tagged(&Tagged {
    class: None,
    unknown: "Unknown kind '{}' for openhands.sdk.secret.secrets.SecretSource; \
        Expected one of: ['LookupSecret', 'StaticSecret']",
    kinds: &[("LookupSecret", LOOKED_UP), ("StaticSecret", SAID)],
    without: Some(PLAIN),
}))));

const SAID: &Table = &[
    ("description", Kind::Text, Gap::Null),
    ("value", Kind::Text, Gap::Null),
];
const LOOKED_UP: &Table = &[
    ("description", Kind::Text, Gap::Null),
    ("url", Kind::Text, Gap::None),
    ("headers", Kind::Each(&Kind::Text), Gap::Absent),
];
/// One that does not say what it is holds the secret itself: of an address nobody would know what it is for.
const PLAIN: &Table = &[
    ("description", Kind::Text, Gap::Null),
    ("value", Kind::Text, Gap::None),
];

const ANYTHING: Object = Object {
    class: None,
    fields: &[],
    others: Others::Kept,
};

const WORKTREE: Kind = Kind::Object(&Object {
    class: None,
    fields: &[
        (
            "base",
            Kind::OneOf(&["default_branch", "head", "ref"]),
            Gap::Absent,
        ),
        ("ref", Kind::Text, Gap::Null),
        ("branch_prefix", Kind::Text, Gap::Absent),
    ],
    others: Others::Refused,
});

const CLIENT_TOOLS: Kind = Kind::List(&Kind::Object(&Object {
    class: None,
    fields: &[
        ("name", Kind::Text, Gap::None),
        ("description", Kind::Text, Gap::None),
        ("parameters", Kind::Schema, Gap::Absent),
        ("annotations", Kind::Map, Gap::Null),
    ],
    others: Others::Kept,
}));

#[rustfmt::skip]
const ADDITIONS: Kind = Kind::Object(&Object {
    class: None,
    fields: &[
        ("system_message_suffix_append", Kind::Sized { least: 0, most: MAX_ADDITION }, Gap::Null),
        ("skills", SKILLS, Gap::Null),
        ("llm_profile_ref", Kind::Sized { least: 1, most: usize::MAX }, Gap::Null),
    ],
    others: Others::Refused,
});

const AGENTS: Kind = Kind::List(&Kind::Object(&Object {
    class: None,
    fields: &[
        ("name", Kind::Text, Gap::None),
        ("description", Kind::Text, Gap::Null),
        ("system_prompt", Kind::Text, Gap::Null),
    ],
    others: Others::Kept,
}));

const PLUGINS: Kind = Kind::List(&Kind::Object(&Object {
    class: None,
    fields: &[
        ("source", Kind::Text, Gap::None),
        ("ref", Kind::Text, Gap::Null),
        ("repo_path", Kind::Text, Gap::Null),
    ],
    others: Others::Kept,
}));

const CONTAINER: Kind = Kind::Object(&Object {
    class: None,
    fields: &[
        ("memory", Kind::Text, Gap::Null),
        ("cpus", Kind::Number { most: None }, Gap::Null),
        ("browser", Kind::Switch, Gap::Absent),
    ],
    others: Others::Refused,
});
