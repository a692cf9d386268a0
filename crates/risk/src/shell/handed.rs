//! Commands that programs are handed in options and variables, and run by themselves.

use super::Word;

/// Options whose value is a command. What a shell reads there it reads as a script.
const OPTIONS: &[(&[&str], &[&str])] = &[
    (&["rg"], &["--pre", "--hostname-bin"]),
    (
        &["tar", "gtar", "bsdtar"],
        &[
            "--checkpoint-action",
            "--to-command",
            "--use-compress-program",
            "-I",
            "--info-script",
            "--new-volume-script",
            "-F",
            "--rmt-command",
            "--rsh-command",
        ],
    ),
    (&["man", "apropos"], &["-P", "--pager", "-H", "--html"]),
    (
        &["git"],
        &[
            "-O",
            "--open-files-in-pager",
            "-x",
            "--extcmd",
            "--exec",
            "--upload-pack",
            "--receive-pack",
            "--tree-filter",
            "--index-filter",
            "--msg-filter",
            "--env-filter",
            "--commit-filter",
        ],
    ),
    (&["sort"], &["--compress-program"]),
    (&["split"], &["--filter"]),
    (&["rsync"], &["-e", "--rsh", "--rsync-path"]),
    (&["scp", "sftp"], &["-S"]),
    (
        &["ssh", "scp", "sftp"],
        &[
            "ProxyCommand=",
            "-oProxyCommand=",
            "LocalCommand=",
            "-oLocalCommand=",
        ],
    ),
    (&["zip"], &["-TT", "--unzip-command"]),
    (&["tcpdump"], &["-z"]),
    (&["vi", "vim", "nvim", "ex", "view"], &["-c", "--cmd"]),
];

/// Variables whose value programs run.
const VARIABLES: &[&str] = &[
    "BASH_ENV",
    "BROWSER",
    "EDITOR",
    "ENV",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "LESSCLOSE",
    "LESSOPEN",
    "MANPAGER",
    "PAGER",
    "PROMPT_COMMAND",
    "RSYNC_RSH",
    "SHELL",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "TAR_OPTIONS",
    "VISUAL",
];

/// The commands in the options of a program.
pub(super) fn in_options<'w>(verb: &str, arguments: &'w [Word]) -> Vec<&'w str> {
    let mut found = Vec::new();
    let rows = OPTIONS.iter().filter(|(programs, _)| programs.contains(&verb));
    for option in rows.flat_map(|(_, options)| *options) {
        for (at, word) in arguments.iter().enumerate() {
            let value = match word.text.strip_prefix(option) {
                Some("") => arguments.get(at + 1).map(|next| next.text.as_str()),
                Some(joined) if option.starts_with("--") => joined.strip_prefix('='),
                Some(joined) => Some(joined),
                None => None,
            };
            // `exec=` is tar's, the exclamation mark that of editors.
            found.extend(value.map(|value| {
                let value = value.strip_prefix("exec=").unwrap_or(value);
                value.trim_start_matches([':', '!', '|', ' '])
            }));
        }
    }
    found
}

/// The commands in a program of one that has a language of its own: `.shell ls`, `\! ls`, `!ls`.
pub(super) fn in_escapes(program: &str) -> impl Iterator<Item = &str> {
    let words = [".shell ", ".system ", "shell ", "spawn ", "\\!", "+!", ":!", "!"];
    let lines = program.lines().map(str::trim_start);
    lines.filter_map(move |line| words.iter().find_map(|word| line.strip_prefix(word)))
}

/// The command in a variable, if its value is run.
pub(super) fn in_variable<'w>(name: &str, value: &'w str) -> Option<&'w str> {
    let value = value.trim_start_matches(['|', '-', ' ']); // as LESSOPEN has it
    VARIABLES.contains(&name).then_some(value)
}
