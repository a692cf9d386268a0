//! What kind of place a path names. By its letters only: nothing here looks at a disk.

/// Where a command for the shell is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site<'a> {
    /// The directory that tools work in.
    pub workspace: &'a str,
    /// The one that the shell stands in, from the root.
    pub directory: &'a str,
}

/// In the workspace itself.
impl<'a> From<&'a str> for Site<'a> {
    fn from(workspace: &'a str) -> Self {
        Self {
            workspace,
            directory: workspace,
        }
    }
}

/// What kind of place it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The root directory, or what holds the workspace.
    Root,
    /// Somebody's home directory itself.
    Home,
    /// Below a home directory, outside the workspace.
    BelowHome,
    /// A directory of the system, or below one.
    System,
    /// A disk or another device.
    Device,
    /// A connection that the shell opens: `/dev/tcp/…`.
    Connection,
    /// Keys, passwords and tokens.
    Credentials,
    /// What other programs run or obey: start-up files, git hooks, settings of agents.
    Obeyed,
    /// What a build server runs.
    Pipeline,
    /// The workspace itself, or all that is in it.
    Workspace,
    /// In the workspace.
    Inside,
    /// For temporary files.
    Temporary,
    /// Where output goes to be dropped or shown.
    Sink,
    /// Outside, and nothing known of it.
    Elsewhere,
}

const SYSTEM: &[&str] = &[
    "bin",
    "boot",
    "dev",
    "etc",
    "lib",
    "lib32",
    "lib64",
    "opt",
    "proc",
    "sbin",
    "srv",
    "sys",
    "usr",
    "var",
    "home",
    "Users",
    "System",
    "Library",
    "Applications",
];

/// Each is a run of neighbouring parts of a path; `*` at an end stands for anything.
const CREDENTIALS: &[&[&str]] = &[
    &[".ssh"],
    &[".aws"],
    &[".azure"],
    &[".gnupg"],
    &[".netrc"],
    &[".pgpass"],
    &[".pypirc"],
    &[".git-credentials"],
    &[".docker", "config.json"],
    &[".kube"],
    &[".cargo", "credentials*"],
    &[".config", "gh"],
    &[".config", "gcloud"],
    &[".config", "google-chrome"],
    &[".mozilla"],
    &[".password-store"],
    &["etc", "shadow*"],
    &["etc", "gshadow*"],
    &["etc", "sudoers*"],
    &["etc", "ssl", "private"],
    &["proc", "*", "environ"],
    &["run", "secrets"],
    &["id_rsa"],
    &["id_ed25519"],
    &["id_ecdsa"],
];

const OBEYED: &[&[&str]] = &[
    &[".bashrc"],
    &[".bash_profile"],
    &[".bash_login"],
    &[".bash_logout"],
    &[".profile"],
    &[".zshrc"],
    &[".zshenv"],
    &[".zprofile"],
    &[".zlogin"],
    &[".config", "fish"],
    &[".config", "autostart"],
    &[".config", "systemd"],
    &[".config", "git"],
    &[".gitconfig"],
    &[".npmrc"],
    &[".git", "hooks"],
    &[".git", "config"],
    &[".git", "info", "attributes"],
    &[".husky"],
    &[".envrc"],
    &[".vscode", "tasks.json"],
    &[".vscode", "settings.json"],
    &[".mcp.json"],
    &[".deft"],
    &["deft.toml"],
    &[".openhands", "hooks.json"],
    &[".openhands", "setup.sh"],
    &[".openhands", "pre-commit.sh"],
    &[".claude", "settings*"],
    &[".codex"],
    &[".cursor", "mcp.json"],
];

const PIPELINE: &[&[&str]] = &[
    &[".github", "workflows"],
    &[".gitlab-ci.yml"],
    &[".circleci"],
    &[".buildkite"],
    &["Jenkinsfile"],
    &[".pre-commit-config.yaml"],
];

const SINKS: &[&str] = &[
    "null", "zero", "full", "stdin", "stdout", "stderr", "tty", "fd", "random", "urandom",
];

/// The home directory that a workspace seems to lie in.
pub(crate) fn home(workspace: &str) -> String {
    let parts = parts(workspace);
    match parts.as_slice() {
        [top @ ("home" | "Users"), name, ..] => format!("/{top}/{name}"),
        ["root", ..] => "/root".to_owned(),
        _ => "/home/user".to_owned(),
    }
}

/// What `path` is, seen from the directory `from`.
pub(crate) fn place(path: &str, from: &str, workspace: &str) -> Place {
    let full = absolute(path, from);
    let all: Vec<&str> = parts(&full);
    // What a pattern could match is as bad as the directory that it stands in.
    let known = all
        .iter()
        .position(|part| part.contains(['*', '?', '[']))
        .unwrap_or(all.len());
    if has_run(&all, CREDENTIALS) && !is_public_key(&all) {
        return Place::Credentials;
    }
    if has_run(&all, OBEYED) {
        return Place::Obeyed;
    }
    if has_run(&all, PIPELINE) {
        return Place::Pipeline;
    }
    let whole = &all[..known];
    let workspace = parts(workspace);
    if whole.is_empty() {
        return Place::Root;
    }
    if whole == workspace {
        return Place::Workspace;
    }
    if workspace.starts_with(whole) {
        return if is_home(whole) { Place::Home } else { Place::Root };
    }
    if !workspace.is_empty() && whole.starts_with(&workspace) {
        return Place::Inside;
    }
    match whole {
        ["dev", "tcp" | "udp", ..] => Place::Connection,
        ["dev", sink, ..] if SINKS.contains(sink) => Place::Sink,
        ["tmp", ..] | ["var" | "private", "tmp", ..] | ["dev", "shm", ..] => Place::Temporary,
        ["dev", _, ..] => Place::Device,
        _ if is_home(whole) => Place::Home,
        ["root", ..] | ["home" | "Users", _, _, ..] => Place::BelowHome,
        [top, ..] if SYSTEM.contains(top) => Place::System,
        _ => Place::Elsewhere,
    }
}

/// The path from the root, `.` and `..` resolved.
pub(crate) fn absolute(path: &str, from: &str) -> String {
    let joined = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{from}/{path}")
    };
    let mut kept: Vec<&str> = Vec::new();
    for part in parts(&joined) {
        if part == ".." {
            kept.pop();
        } else {
            kept.push(part);
        }
    }
    format!("/{}", kept.join("/"))
}

fn parts(path: &str) -> Vec<&str> {
    path.split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect()
}

fn is_home(parts: &[&str]) -> bool {
    matches!(parts, ["root"] | ["home" | "Users", _])
}

fn is_public_key(parts: &[&str]) -> bool {
    parts
        .last()
        .is_some_and(|name| name.strip_suffix(".pub").is_some() || name.starts_with("known_hosts"))
}

fn has_run(parts: &[&str], runs: &[&[&str]]) -> bool {
    let fits = |run: &[&str], at: &[&str]| {
        run.iter()
            .zip(at)
            .all(|(wanted, part)| match wanted.strip_suffix('*') {
                Some(start) => part.starts_with(start),
                None => wanted == part,
            })
    };
    runs.iter()
        .any(|run| parts.windows(run.len()).any(|at| fits(run, at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_by_its_parts_seen_from_where_it_is_used() {
        let of = |path: &str| place(path, "/home/ann/shop", "/home/ann/shop");
        for (path, expected) in [
            ("/", Place::Root),
            ("//./", Place::Root),
            ("/*", Place::Root),
            ("../..", Place::Root),
            ("..", Place::Home),
            ("/home/ann", Place::Home),
            ("/home/bob", Place::Home),
            (".", Place::Workspace),
            ("*", Place::Workspace),
            ("build", Place::Inside),
            ("/home/ann/shop/../shop/build", Place::Inside),
            ("/home/ann/shopping", Place::BelowHome),
            ("/etc/passwd", Place::System),
            ("/e*c", Place::Root),
            ("/dev/sda1", Place::Device),
            ("/dev/null", Place::Sink),
            ("/dev/tcp/1.2.3.4/80", Place::Connection),
            ("/tmp/x", Place::Temporary),
            ("/home/ann/.ssh/id_ed25519", Place::Credentials),
            ("/home/ann/.ssh/id_ed25519.pub", Place::BelowHome),
            ("/proc/self/environ", Place::Credentials),
            (".git/hooks/pre-commit", Place::Obeyed),
            (".github/workflows/ci.yml", Place::Pipeline),
            ("/data", Place::Elsewhere),
        ] {
            assert_eq!(of(path), expected, "{path}");
        }
    }
}
