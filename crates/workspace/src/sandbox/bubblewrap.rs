//! The view of the machine that bubblewrap makes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Launch, sockets};
use crate::policy::Network;
use crate::protected::Guard;

/// Sockets that are hidden one by one. The time that a sandbox takes to start grows with the square of its mounts.
const MAX_SOCKETS: usize = 64;

/// What stands at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mount {
    /// What is there, as it is.
    Same,
    /// What is there, not to be changed.
    ReadOnly,
    /// An empty directory.
    EmptyDirectory,
    /// An empty directory, not to be changed.
    EmptyReadOnly,
    /// An empty file.
    EmptyFile,
    /// Another directory.
    Other(PathBuf),
}

/// What stands where, by path.
pub(super) struct View(BTreeMap<PathBuf, Mount>);

impl View {
    pub(super) fn new(launch: &Launch, guards: &BTreeMap<PathBuf, Guard>) -> Self {
        Self(mounts(launch, guards))
    }

    /// What is mounted of a directory, itself and what lies in it, and whether it cannot be changed.
    pub(super) fn mounted_of(&self, directory: &Path) -> impl Iterator<Item = (&Path, bool)> {
        let is_its = move |path: &Path| path.starts_with(directory);
        let mounted = self.0.iter().filter_map(|(path, mount)| match mount {
            Mount::Same => Some((path.as_path(), false)),
            Mount::ReadOnly => Some((path.as_path(), true)),
            Mount::EmptyDirectory | Mount::EmptyReadOnly | Mount::EmptyFile | Mount::Other(_) => None,
        });
        mounted.filter(move |(path, _)| is_its(path))
    }
}

/// The options that make the view.
pub(super) fn options(launch: &Launch, view: View) -> Vec<OsString> {
    let mut options: Vec<OsString> = [
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--die-with-parent", // which is its proxy, and tidies up after it
    ]
    .map(OsString::from)
    .to_vec();
    match launch.plan.policy.network {
        Network::Off | Network::AllowList { .. } => options.push("--unshare-net".into()),
        Network::All => {}
    }
    // By path: what lies in another place comes after it, and so on top of it.
    for (path, mount) in view.0 {
        let (option, source) = match mount {
            Mount::Same => ("--bind", Some(path.clone())),
            Mount::ReadOnly => ("--ro-bind", Some(path.clone())),
            Mount::EmptyDirectory | Mount::EmptyReadOnly => ("--tmpfs", None),
            Mount::EmptyFile => ("--ro-bind", Some("/dev/null".into())),
            Mount::Other(ref source) => ("--bind", Some(source.clone())),
        };
        options.push(option.into());
        options.extend(source.map(PathBuf::into_os_string));
        options.push(path.clone().into_os_string());
        if path == Path::new("/") {
            options.extend(["--dev", "/dev", "--proc", "/proc"].map(OsString::from));
        }
        if mount == Mount::EmptyReadOnly {
            options.push("--remount-ro".into());
            options.push(path.into_os_string());
        }
    }
    options
}

fn mounts(launch: &Launch, guards: &BTreeMap<PathBuf, Guard>) -> BTreeMap<PathBuf, Mount> {
    let policy = &launch.plan.policy;
    let mut mounts: BTreeMap<PathBuf, Mount> = BTreeMap::new();
    mounts.extend(policy.readable.iter().map(|path| (path.clone(), Mount::ReadOnly)));
    // Sockets of services are there, and connecting to one is not writing. The second is mostly a link to the first.
    for services in ["/run", "/var/run"].map(Path::new) {
        if services.is_dir() && !services.is_symlink() {
            mounts.insert(services.to_owned(), Mount::EmptyDirectory);
        }
    }
    if let Ok(names) = Path::new("/etc/resolv.conf").canonicalize()
        && names.starts_with("/run")
    {
        mounts.insert(names, Mount::ReadOnly);
    }
    for temporary in ["/tmp", "/var/tmp"] {
        mounts.insert(temporary.into(), Mount::Other(launch.temporary()));
    }
    for hidden in &policy.hidden {
        let empty = if hidden.is_dir() {
            Mount::EmptyDirectory
        } else {
            Mount::EmptyFile
        };
        mounts.insert(hidden.clone(), empty);
    }
    mounts.insert(launch.root.clone(), Mount::ReadOnly);
    let changeable = launch.changeable();
    let named = policy
        .writable
        .iter()
        .chain(&changeable)
        .chain([&launch.directory]);
    mounts.extend(named.map(|path| (path.clone(), Mount::Same)));
    for hidden in &policy.hidden {
        keep_in_place(hidden, &mut mounts);
    }
    for (path, guard) in guards {
        protect(path, *guard, &mut mounts);
    }
    if launch.plan.hides_sockets {
        hide_sockets(sockets::of_services(), &mut mounts);
    }
    mounts
}

/// Hides sockets that can be seen but not be written to, which would not keep anybody from talking to who listens.
fn hide_sockets(sockets: Vec<PathBuf>, mounts: &mut BTreeMap<PathBuf, Mount>) {
    let nearest = |socket: &Path| socket.ancestors().find_map(|above| mounts.get(above));
    let seen = sockets
        .into_iter()
        .filter(|socket| nearest(socket) == Some(&Mount::ReadOnly));
    let hidden: Vec<_> = seen.take(MAX_SOCKETS).collect();
    mounts.extend(hidden.into_iter().map(|socket| (socket, Mount::EmptyFile)));
}

/// Sees to it that a hidden path keeps its name, by which the next sandbox hides it, where what lies above it can be
/// written.
fn keep_in_place(hidden: &Path, mounts: &mut BTreeMap<PathBuf, Mount>) {
    let above: Vec<&Path> = hidden.ancestors().skip(1).collect();
    let Some(nearest) = above.iter().position(|above| mounts.contains_key(*above)) else {
        return;
    };
    let (between, mounted) = above.split_at(nearest);
    if mounted.first().and_then(|mounted| mounts.get(*mounted)) == Some(&Mount::Same) {
        mounts.extend(between.iter().map(|between| (between.to_path_buf(), Mount::Same)));
    }
}

/// Makes a path read-only, or keeps it empty. Whatever lies between it and what can be written becomes a mount too,
/// because those cannot be renamed: otherwise a copy could be put in the place of what is protected.
fn protect(path: &Path, guard: Guard, mounts: &mut BTreeMap<PathBuf, Mount>) {
    let above: Vec<&Path> = path
        .ancestors()
        .skip(1)
        .take_while(|above| !matches!(mounts.get(*above), Some(Mount::Same)))
        .collect();
    let is_hidden = |path: &Path| matches!(mounts.get(path), Some(Mount::EmptyDirectory | Mount::EmptyFile));
    if is_hidden(path) || above.iter().any(|above| is_hidden(above)) {
        return; // to show it read-only would be to show it
    }
    if path.is_symlink() || !above.iter().all(|above| above.is_dir() && !above.is_symlink()) {
        return;
    }
    let mount = match guard {
        Guard::ReadOnly | Guard::Placed(_) if path.exists() => Some(Mount::ReadOnly),
        Guard::ReadOnly | Guard::Placed(_) => return,
        Guard::Absent => Some(Mount::EmptyReadOnly),
        Guard::Unmakable => None, // a mount would need a place that is there
    };
    mounts.extend(mount.map(|mount| (path.to_owned(), mount)));
    for above in above {
        mounts.entry(above.to_owned()).or_insert(Mount::Same);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn protected(root: &Path, guards: &[(&str, Guard)]) -> BTreeMap<PathBuf, Mount> {
        let mut mounts = BTreeMap::from([(root.to_owned(), Mount::Same)]);
        for (path, guard) in guards {
            protect(&root.join(path), *guard, &mut mounts);
        }
        mounts.remove(root);
        mounts
    }

    #[test]
    fn what_is_protected_cannot_be_moved_away_and_links_are_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        fs::create_dir_all(root.join("lib/.git")).unwrap();
        std::os::unix::fs::symlink("/etc", root.join(".vscode")).unwrap();
        let guards = [
            (".git/hooks", Guard::ReadOnly),
            (".vscode", Guard::ReadOnly),
            (".vscode/passwd", Guard::ReadOnly),
            (".deft", Guard::Absent),
            ("lib/.git/commondir", Guard::Unmakable),
        ];
        let expected = [
            (root.join(".git"), Mount::Same),
            (root.join(".git/hooks"), Mount::ReadOnly),
            (root.join(".deft"), Mount::EmptyReadOnly),
            (root.join("lib"), Mount::Same),
            (root.join("lib/.git"), Mount::Same),
        ];
        assert_eq!(protected(root, &guards), BTreeMap::from(expected));
    }

    #[test]
    fn what_is_hidden_cannot_be_given_another_name() {
        let hidden = |path: &str| (PathBuf::from(path), Mount::EmptyDirectory);
        let mut mounts = BTreeMap::from([
            ("/".into(), Mount::ReadOnly),
            ("/home/me".into(), Mount::Same),
            hidden("/home/me/.config/gh"),
            hidden("/home/me/.ssh"),
            hidden("/home/me/.deft"),
            ("/home/me/.deft/in".into(), Mount::Same),
            hidden("/home/you/.config/gh"),
        ]);
        let before = mounts.clone();
        for path in before.keys() {
            keep_in_place(path, &mut mounts);
        }
        mounts.retain(|path, _| !before.contains_key(path));
        assert_eq!(mounts, BTreeMap::from([("/home/me/.config".into(), Mount::Same)]));
    }

    #[test]
    fn sockets_are_hidden_where_nothing_can_be_written() {
        let mut mounts = BTreeMap::from([
            ("/".into(), Mount::ReadOnly),
            ("/run".into(), Mount::EmptyDirectory),
            ("/tmp".into(), Mount::Other("/state/in.tmp".into())),
            ("/work".into(), Mount::Same),
        ]);
        let elsewhere = ["/run/a", "/tmp/b", "/work/c"].map(PathBuf::from);
        let elsewhere = elsewhere.iter().cycle().take(2 * MAX_SOCKETS).cloned();
        let seen = (0..=MAX_SOCKETS).map(|number| PathBuf::from(format!("/opt/{number}")));
        hide_sockets(elsewhere.chain(seen.clone()).collect(), &mut mounts);
        mounts.retain(|_, mount| *mount == Mount::EmptyFile);
        let hidden = seen.take(MAX_SOCKETS).map(|socket| (socket, Mount::EmptyFile));
        assert_eq!(mounts, hidden.collect());
    }

    #[test]
    fn what_is_hidden_stays_so_where_it_would_be_protected() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join(".deft")).unwrap();
        let hidden = BTreeMap::from([
            (root.path().to_owned(), Mount::Same),
            (root.path().join(".deft"), Mount::EmptyDirectory),
        ]);
        let mut mounts = hidden.clone();
        protect(&root.path().join(".deft"), Guard::ReadOnly, &mut mounts);
        assert_eq!(mounts, hidden);
    }
}
