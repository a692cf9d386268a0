//! What the steps of a cloning run.

/// Makes a folder that was not there yet, with an empty repository; its path is the last line.
pub(super) const PREPARE: &str = r#"set -eu
mkdir -p -- "$DEFT_PARENT"
place=$DEFT_PARENT/$DEFT_NAME
number=2
until mkdir -- "$place" 2>/dev/null; do
    [ -e "$place" ] && [ $number -le 1000 ] || { echo "$place cannot be made"; exit 1; }
    place=$DEFT_PARENT/$DEFT_NAME-$number
    number=$((number + 1))
done
git -c init.defaultBranch=main init --quiet --template= -- "$place"
git -C "$place" remote add origin "$DEFT_URL"
printf '%s\n' "$place"
"#;

/// Fetches every branch, and which is the usual one. The password is read once and given to each git that asks.
pub(super) const FETCH: &str = r#"set -eu
password=$(cat)
ask() {
    printf '%s\n' "$password" | git -c credential.helper= -c core.hooksPath=/dev/null -c core.fsmonitor=false \
        -c credential.helper='!f() { [ "$1" != get ] || cat <&3; }; f' -c http.followRedirects="$DEFT_REDIRECTS" \
        "$@" 3<&0 </dev/null
}
ask fetch --progress --no-recurse-submodules --no-auto-maintenance origin
ask remote set-head origin --auto >/dev/null 2>&1 || true
"#;

/// Checks a branch out: the one that is asked for, the usual one, or the first. A repository may be empty.
pub(super) const CHECKOUT: &str = r#"set -eu
branch=$DEFT_BRANCH
[ -n "$branch" ] || branch=$(git symbolic-ref --quiet --short refs/remotes/origin/HEAD | sed 's|^origin/||')
[ -n "$branch" ] || branch=$(git for-each-ref --count=1 --format='%(refname:lstrip=3)' refs/remotes/origin)
[ -n "$branch" ] || exit 0
git -c core.hooksPath=/dev/null -c core.fsmonitor=false checkout --quiet -B "$branch" --track "origin/$branch" --
"#;

/// Removes the folder again.
pub(super) const CLEAR: &str = r#"rm -rf -- "$DEFT_FOLDER""#;
