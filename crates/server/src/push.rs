//! Pushes a commit of a workspace to a forge.
//!
//! Git runs beside the files, in a repository of its own that borrows the objects: nothing that the workspace's
//! repository is configured to do (other addresses, proxies, helpers, hooks) is asked. The token comes through a pipe that
//! only git's question for it reads; it is in no address, no argument, no variable and no log.

use axum::http::StatusCode;
use deft_executor::Client;

use crate::failure::Failure;
use crate::forge::Account;
use crate::git_command::GitCommand;

/// How long a push may take, and a look at the repository.
const PUSH_MS: u64 = 10 * 60 * 1000;
const LOOK_MS: u64 = 30 * 1000;

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

/// Where the repository in a directory says that it comes from.
pub(crate) async fn origin(client: &Client, directory: &str) -> Result<Option<String>, Failure> {
    let said = GitCommand::new(REMOTE, directory, LOOK_MS).run(client).await?;
    Ok(Some(said.text).filter(|text| said.succeeded && !text.trim().is_empty()))
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
    let url = account.repository(repository);
    let variables = [
        ("DEFT_URL", url.as_str()),
        ("DEFT_COMMIT", commit),
        ("DEFT_BRANCH", branch),
    ];
    let push = GitCommand::new(PUSH, directory, PUSH_MS)
        .with(variables)
        .with_account(account);
    let said = push.run(client).await?;
    if said.succeeded {
        return Ok(());
    }
    let complaint = said.complaint(Some(account));
    let sentence = format!("{} did not take the branch:\n{complaint}", account.host());
    Err(Failure::new(StatusCode::BAD_GATEWAY, sentence))
}
