//! A conversation that works in a copy of the repository, on a branch of its own: what a client may say about that.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::request::given;

/// The longest name of a branch, or beginning of one.
const MAX_NAME: usize = 200;

/// The copy that a client wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worktree {
    /// What it begins with.
    pub base: WorktreeBase,
    /// What the name of its branch begins with.
    pub branch_prefix: String,
}

/// What a copy begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorktreeBase {
    /// The usual branch of the remote; without one, what is checked out.
    DefaultBranch,
    /// What is checked out.
    Head,
    /// A branch, a tag or a commit.
    Ref(String),
}

impl Default for Worktree {
    fn default() -> Self {
        Self {
            base: WorktreeBase::DefaultBranch,
            branch_prefix: "openhands/".to_owned(),
        }
    }
}

/// As it is sent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    base: Option<String>,
    #[serde(rename = "ref")]
    reference: Option<String>,
    branch_prefix: Option<String>,
}

impl Worktree {
    /// The one that a start request asks for.
    pub(crate) fn read(fields: &Map<String, Value>) -> Result<Option<Self>, Failure> {
        let refused = |reason: &str| Failure::refused(format!("`worktree_options` cannot be used: {reason}"));
        let options = given(fields, "worktree_options")
            .map(Options::deserialize)
            .transpose();
        let options = options.map_err(|error| refused(&error.to_string()))?;
        if given(fields, "worktree") != Some(&Value::Bool(true)) {
            return Ok(None);
        }
        let Some(options) = options else {
            return Ok(Some(Self::default()));
        };
        let base = match (
            options.base.as_deref().unwrap_or("default_branch"),
            options.reference,
        ) {
            ("default_branch", _) => WorktreeBase::DefaultBranch,
            ("head", _) => WorktreeBase::Head,
            ("ref", Some(reference)) if is_name(&reference) => WorktreeBase::Ref(reference),
            ("ref", _) => {
                return Err(refused(
                    "`base` is `ref`, so `ref` must name a branch, a tag or a commit",
                ));
            }
            _ => return Err(refused("`base` must be default_branch, head or ref")),
        };
        let branch_prefix = options.branch_prefix.unwrap_or(Self::default().branch_prefix);
        if !branch_prefix.is_empty() && !is_name(&branch_prefix) {
            return Err(refused(
                "`branch_prefix` must be the beginning of a branch's name",
            ));
        }
        Ok(Some(Self { base, branch_prefix }))
    }
}

/// As the contract has it: nothing that a program could take for an option or a shell for anything.
fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | '-');
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.len() <= MAX_NAME
        && text.chars().all(is_plain)
        && !text.contains("..")
        && !text.contains("//")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(body: &Value) -> Result<Option<Worktree>, String> {
        Worktree::read(body.as_object().unwrap()).map_err(|failure| failure.detail())
    }

    #[test]
    fn a_copy_is_wanted_only_where_it_is_said_and_can_be_understood() {
        assert_eq!(read(&json!({})), Ok(None));
        assert_eq!(
            read(&json!({"worktree": false, "worktree_options": {"base": "head"}})),
            Ok(None)
        );
        assert_eq!(read(&json!({"worktree": true})), Ok(Some(Worktree::default())));
        let options = json!({"base": "ref", "ref": "v1.2", "branch_prefix": "x/"});
        let wanted = read(&json!({"worktree": true, "worktree_options": options}))
            .unwrap()
            .unwrap();
        assert_eq!(
            (wanted.base, wanted.branch_prefix.as_str()),
            (WorktreeBase::Ref("v1.2".to_owned()), "x/")
        );
        for wrong in [
            json!({"base": "ref"}),
            json!({"base": "ref", "ref": "--upload-pack=x"}),
            json!({"base": "ref", "ref": "a..b"}),
            json!({"base": "other"}),
            json!({"branch_prefix": "-x"}),
            json!({"nonsense": 1}),
        ] {
            assert!(
                read(&json!({"worktree": true, "worktree_options": wrong})).is_err(),
                "{wrong}"
            );
        }
    }
}
