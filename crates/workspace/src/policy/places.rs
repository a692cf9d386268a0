//! Where secrets lie, and which files of a project act outside of it.

/// In a home directory: keys, credentials, browsers' profiles, other agents' state.
pub(super) const SECRETS_OF_A_HOME: &[&str] = &[
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".pgpass",
    ".password-store",
    ".bash_history",
    ".zsh_history",
    ".docker",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/glab-cli",
    ".config/op",
    ".local/share/keyrings",
    ".claude",
    ".codex",
    ".gemini",
    ".openhands",
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/microsoft-edge",
    ".config/BraveSoftware",
    ".config/vivaldi",
    ".config/opera",
    "snap/chromium",
    "snap/firefox",
    ".var/app",
];

/// Of the machine: only an executor that runs as root could read them at all.
pub(super) const SECRETS_OF_THE_MACHINE: &[&str] = &["/etc/shadow", "/etc/gshadow", "/run/secrets"];

/// In a workspace: what git, editors, shells and agents run or obey, ours too. Of `.git` that is only a part.
pub(super) const PROTECTED: &[&str] = &[
    ".git",
    ".deft",
    "deft.toml",
    ".openhands",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".mcp.json",
    ".vscode",
    ".idea",
    ".envrc",
];
