//! Pushes a commit of a workspace to a forge.
//!
//! Git runs beside the files, in a repository of its own that borrows the objects: nothing that the workspace's
//! repository is configured to do (other addresses, proxies, helpers, hooks) is asked. The token comes through a pipe that
//! only git's question for it reads; it is in no address, no argument, no variable and no log.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use deft_executor::{Client, CommandUpdate, EndReason, ShellCommand};
use uuid::Uuid;

use crate::failure::Failure;
use crate::forge::Account;
use crate::routes::files::refused;

/// How long a push may take, and a look at the repository.
const PUSH_MS: u64 = 10 * 60 * 1000;
const LOOK_MS: u64 = 30 * 1000;
/// The most of what git says that is kept.
const MAX_SAID: usize = 64 * 1024;
/// The lines of it that are told when it fails.
const LINES_TOLD: usize = 12;
/// What stands for the token, should anything repeat it.
const MASK: &str = "**********";

const REMOTE: &str = "git config --get remote.origin.url";

const PUSH: &str = r#"set -eu
exec 3<&0 </dev/null
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
git init --quiet --bare --template= --object-format="$(git rev-parse --show-object-format)" "$place/push.git"
git rev-parse --path-format=absolute --git-path objects >"$place/push.git/objects/info/alternates"
shallow=$(git rev-parse --path-format=absolute --git-path shallow)
[ ! -e "$shallow" ] || cp "$shallow" "$place/push.git/shallow"
git --git-dir="$place/push.git" -c credential.helper= -c credential.helper='!f() { [ "$1" != get ] || cat <&3; }; f' \
    -c http.followRedirects=false push --porcelain -- "$DEFT_URL" "$DEFT_COMMIT:refs/heads/$DEFT_BRANCH"
git -c core.hooksPath=/dev/null update-ref "refs/remotes/origin/$DEFT_BRANCH" "$DEFT_COMMIT"
"#;

/// What git may know of its surroundings.
const ENVIRONMENT: [(&str, &str); 8] = [
    ("GIT_ALLOW_PROTOCOL", "https:http"),
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_KEY_0", "safe.directory"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_VALUE_0", "*"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("HOME", "/nonexistent"),
];

/// Where the repository in a directory says that it comes from.
pub(crate) async fn origin(client: &Client, directory: &str) -> Result<Option<String>, Failure> {
    let (code, said) = run(client, command(REMOTE, directory, LOOK_MS)).await?;
    Ok(Some(said).filter(|said| code == 0 && !said.trim().is_empty()))
}

/// Pushes a commit to a branch.
pub(crate) async fn push(
    client: &Client,
    directory: &str,
    account: &Account,
    repository: &str,
    commit: &str,
    branch: &str,
) -> Result<(), Failure> {
    let mut push = command(PUSH, directory, PUSH_MS);
    let url = account.repository(repository);
    let told = [
        ("DEFT_URL", url.as_str()),
        ("DEFT_COMMIT", commit),
        ("DEFT_BRANCH", branch),
    ];
    push.env
        .extend(told.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let token = account.token.expose();
    push.input = Some(format!("username={}\npassword={token}\n", account.forge.user()));
    let (code, said) = run(client, push).await?;
    if code == 0 {
        return Ok(());
    }
    let said = said.replace(token, MASK);
    let lines: Vec<_> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(LINES_TOLD)..].join("\n");
    let sentence = format!("{} did not take the branch:\n{last}", account.host());
    Err(Failure::new(StatusCode::BAD_GATEWAY, sentence))
}

fn command(text: &str, directory: &str, timeout_ms: u64) -> ShellCommand {
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    ShellCommand {
        command: text.to_owned(),
        directory: Some(directory.to_owned()),
        env: BTreeMap::from(ENVIRONMENT.map(own)),
        timeout_ms: Some(timeout_ms),
        input: None,
    }
}

/// Runs a command to its end, and remembers nothing of it.
async fn run(client: &Client, command: ShellCommand) -> Result<(i32, String), Failure> {
    let id = Uuid::new_v4();
    let asked = async {
        client.start_command(id, command).await?;
        let mut following = client.follow_command(id, 0).await?;
        let mut said = Vec::new();
        let ended = loop {
            match following.next().await? {
                CommandUpdate::Output(chunk) if said.len() < MAX_SAID => said.extend_from_slice(&chunk.bytes),
                CommandUpdate::Output(_) => {}
                CommandUpdate::Ended(ended) => break ended,
            }
        };
        client.acknowledge_command(id).await?;
        Ok((ended, String::from_utf8_lossy(&said).into_owned()))
    };
    let (ended, said) = asked.await.map_err(|error| refused(&error))?;
    match ended.reason {
        EndReason::TimedOut => Err(Failure::new(
            StatusCode::GATEWAY_TIMEOUT,
            "git took too long and was stopped",
        )),
        EndReason::Exited | EndReason::Stopped => Ok((ended.exit_code, said)),
    }
}
