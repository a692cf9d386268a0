//! What git is asked to do for copies of repositories. Names and addresses come as variables: no script is put together.

/// What a script ends with where there is no repository, no such commit, and no way to see the repository.
pub(super) const NO_REPOSITORY: i32 = 3;
pub(super) const NO_COMMIT: i32 = 4;
pub(super) const NOT_SEEN: i32 = 5;

/// Finds the repository and the commit to begin with.
pub(super) const FIND: &str = r#"
top=$(git rev-parse --show-toplevel 2>/dev/null) || exit 3
case "$BASE" in
head) start=HEAD ;;
ref) start=$REF ;;
*) start=$(git symbolic-ref -q refs/remotes/origin/HEAD) || start=HEAD ;;
esac
commit=$(git rev-parse -q --verify "$start^{commit}") || exit 4
printf '%s\n%s\n' "$commit" "$top"
"#;
/// Clones, and lets `origin` be what it is for the repository. Objects are borrowed, unless where they are may not be
/// seen later; and a copy of a copy has its own, since the other may be deleted.
pub(super) const CLONE: &str = r#"
[ -d "$SOURCE/.git" ] && cd "$PLACE" || exit 5
how=--shared
[ -z "$APART" ] && [ ! -e "$SOURCE/.git/objects/info/alternates" ] || how=--no-hardlinks
git clone -q "$how" --no-checkout "$SOURCE" . && git checkout -q -b "$BRANCH" "$COMMIT" || exit 1
if url=$(git -C "$SOURCE" remote get-url origin 2>/dev/null); then git remote set-url origin "$url"; else git remote remove origin; fi
"#;
/// Commits what is left.
pub(super) const COMMIT: &str = r#"
git add -A && { git diff --cached --quiet || git -c user.name=Deft -c user.email=deft@localhost commit -q --no-verify \
    -m "Keep the work of $BRANCH"; }
"#;
/// Brings the branch over, unless it has nothing of its own. Nothing is run in the copy, whose settings are the agent's.
pub(super) const FETCH: &str = r#"
cd "$HOME_OF_BRANCH" || exit 5
tip=$(git ls-remote "$PLACE" HEAD | head -n 1 | cut -f 1) && [ -n "$tip" ] || exit 0
[ -z "$(git branch -a --contains "$tip" 2>/dev/null)" ] || exit 0
git fetch -q "$PLACE" "+HEAD:refs/heads/$BRANCH"
"#;
