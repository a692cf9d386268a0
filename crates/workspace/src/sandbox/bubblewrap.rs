//! The view of the machine that bubblewrap makes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Launch;
use crate::policy::{Access, Network};

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

/// The options that make the view.
pub(super) fn options(launch: &Launch) -> Vec<OsString> {
    let mut options: Vec<OsString> = [
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
    ]
    .map(OsString::from)
    .to_vec();
    match launch.plan.policy.network {
        Network::Off => options.push("--unshare-net".into()),
        // The proxy ends with its sandbox, and a sandbox without its proxy is of no use.
        Network::AllowList { .. } => {
            options.extend(["--unshare-net", "--die-with-parent"].map(OsString::from));
        }
        Network::All => {}
    }
    // By path: what lies in another place comes after it, and so on top of it.
    for (path, mount) in mounts(launch) {
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

fn mounts(launch: &Launch) -> BTreeMap<PathBuf, Mount> {
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
    if policy.workspace == Access::Plan {
        return mounts; // nothing of it can be changed that would have to be protected
    }
    for protected in &policy.protected {
        protect(&launch.root, protected, &mut mounts);
    }
    mounts
}

/// Makes a path read-only. Whatever lies between it and the workspace becomes a mount too, because those cannot be
/// renamed: otherwise a copy could be put in the place of what is protected.
fn protect(root: &Path, protected: &Path, mounts: &mut BTreeMap<PathBuf, Mount>) {
    let path = root.join(protected);
    let above: Vec<&Path> = path
        .ancestors()
        .skip(1)
        .take_while(|above| *above != root)
        .collect();
    let is_hidden = |path: &Path| matches!(mounts.get(path), Some(Mount::EmptyDirectory | Mount::EmptyFile));
    if is_hidden(&path) || above.iter().any(|above| is_hidden(above)) {
        return; // to show it read-only would be to show it
    }
    let is_real = |path: &Path, directory: bool| {
        path.symlink_metadata()
            .is_ok_and(|data| !data.is_symlink() && (!directory || data.is_dir()))
    };
    if !above.iter().all(|above| is_real(above, true)) {
        return;
    }
    if is_real(&path, false) {
        mounts.insert(path.clone(), Mount::ReadOnly);
    } else if protected == Path::new(".git/hooks") && !path.is_symlink() {
        mounts.insert(path.clone(), Mount::EmptyReadOnly); // git runs what is put there later, too
    } else {
        return;
    }
    mounts.extend(above.into_iter().map(|above| (above.to_owned(), Mount::Same)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_protected_cannot_be_moved_away_and_links_are_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        std::os::unix::fs::symlink("/etc", root.join(".vscode")).unwrap();
        let mut mounts = BTreeMap::new();
        for protected in [".git/hooks", ".git/config", ".vscode", ".deft"] {
            protect(root, Path::new(protected), &mut mounts);
        }
        let expected = [
            (root.join(".git"), Mount::Same),
            (root.join(".git/hooks"), Mount::ReadOnly),
        ];
        assert_eq!(mounts, BTreeMap::from(expected));
    }

    #[test]
    fn what_is_hidden_stays_so_where_it_would_be_protected() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join(".deft")).unwrap();
        let hidden = BTreeMap::from([(root.path().join(".deft"), Mount::EmptyDirectory)]);
        let mut mounts = hidden.clone();
        protect(root.path(), Path::new(".deft"), &mut mounts);
        assert_eq!(mounts, hidden);
    }

    #[test]
    fn hooks_that_are_not_there_cannot_be_added() {
        let root = tempfile::tempdir().unwrap();
        let mut mounts = BTreeMap::new();
        protect(root.path(), Path::new(".git/hooks"), &mut mounts);
        assert!(mounts.is_empty(), "no repository, no hooks");
        fs::create_dir(root.path().join(".git")).unwrap();
        protect(root.path(), Path::new(".git/hooks"), &mut mounts);
        assert_eq!(mounts[&root.path().join(".git/hooks")], Mount::EmptyReadOnly);
    }
}
