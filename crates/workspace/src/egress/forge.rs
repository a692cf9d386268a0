//! The forge that a repository comes from.
//!
//! Its settings are believed only if no agent that worked there can have written them. Where a directory is no
//! repository, somebody inside can make one that names any host as its forge: that this was so once is noted outside, for
//! good. A repository that an agent makes below its directory is not known as such: see docs/workspaces.md.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};
use rustix::fs::{Mode, OFlags, open};
use url::{Host, Url};

use super::rule::HostRule;

/// How much of git's settings is read.
const MAX_CONFIG: u64 = 64 * 1024;

/// The hosts of the remotes of the repository that a directory belongs to, unless an agent can have made it. To be asked
/// for before a sandbox is made there: `notes` is a directory of ours in which it is noted where one can be made.
pub fn forges(root: &Path, notes: &Path) -> io::Result<Vec<HostRule>> {
    let note = |directory: &Path| {
        let hash = digest(&SHA256, directory.as_os_str().as_bytes());
        let name: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        notes.join(name)
    };
    let top = root.ancestors().find(|above| directory_of_git(above).is_some());
    if top != Some(root) {
        fs::create_dir_all(notes)?;
        File::create(note(root))?;
    }
    // One above can have been made by an agent that worked there.
    match top {
        Some(top) if !note(top).try_exists()? => {
            Ok(hosts(root).iter().map(|host| HostRule::name(host)).collect())
        }
        _ => Ok(Vec::new()),
    }
}

/// Its settings are read as data: neither links nor includes are followed.
fn hosts(root: &Path) -> Vec<String> {
    let directory = root.ancestors().find_map(directory_of_git);
    let config = directory.and_then(|directory| read(&directory.join("config")));
    config.map(|config| hosts_in(&config)).unwrap_or_default()
}

/// Where a repository has its settings; for a linked worktree that is elsewhere.
fn directory_of_git(top: &Path) -> Option<PathBuf> {
    let git = top.join(".git");
    if git.symlink_metadata().ok()?.is_dir() {
        return Some(git);
    }
    let directory = top.join(read(&git)?.strip_prefix("gitdir:")?.trim());
    match read(&directory.join("commondir")) {
        Some(common) => Some(directory.join(common.trim())),
        None => Some(directory),
    }
}

fn read(path: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = open(path, flags, Mode::empty()).ok()?;
    let mut text = String::new();
    File::from(file).take(MAX_CONFIG).read_to_string(&mut text).ok()?;
    Some(text)
}

fn hosts_in(config: &str) -> Vec<String> {
    let mut of_remote = false;
    let mut hosts = Vec::new();
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            of_remote = line.starts_with("[remote ");
        } else if of_remote
            && let Some((key, value)) = line.split_once('=')
            && matches!(key.trim().to_lowercase().as_str(), "url" | "pushurl")
        {
            hosts.extend(host_of(value.trim().trim_matches('"')));
        }
    }
    hosts
}

/// The host of `https://host/…`, `ssh://user@host/…` or `user@host:path`.
fn host_of(url: &str) -> Option<String> {
    let name = match Url::parse(url) {
        Ok(url) if matches!(url.scheme(), "http" | "https" | "ssh" | "git") => url.host_str()?.to_owned(),
        _ => {
            let (account, _) = url.split_once(':')?;
            account.split_once('@')?.1.to_owned()
        }
    };
    match Host::parse(&name).ok()? {
        Host::Domain(name) if name.contains('.') => Some(name),
        Host::Domain(_) | Host::Ipv4(_) | Host::Ipv6(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remotes_are_found_in_every_form_of_address() {
        let config = r#"
[core]
    url = https://not.a.remote/
[remote "origin"]
    url = https://user@github.com/a/b.git
    fetch = +refs/heads/*:refs/remotes/origin/*
[remote "mine"]
    url = git@gitlab.example.com:a/b.git
[remote "third"]
	pushURL = "https://push.example.org/a"
	url = ssh://git@codeberg.org:22/a/b
[remote "inner"]
    url = http://192.168.1.1/a
    url = http://localhost/a
    url = ../other
"#;
        assert_eq!(
            hosts_in(config),
            [
                "github.com",
                "gitlab.example.com",
                "push.example.org",
                "codeberg.org"
            ]
        );
    }

    #[test]
    fn the_repository_is_found_from_a_part_of_it_and_from_a_linked_worktree() {
        let place = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = place.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "main/.git/config",
            "[remote \"o\"]\nurl = https://forge.example/a\n",
        );
        write("main/.git/worktrees/w/commondir", "../..\n");
        write("main/part/file", "");
        let directory = place.path().join("main/.git/worktrees/w");
        write("w/.git", &format!("gitdir: {}\n", directory.display()));
        for root in ["main", "main/part", "w"] {
            assert_eq!(hosts(&place.path().join(root)), ["forge.example"], "{root}");
        }
    }

    #[test]
    fn a_repository_that_an_agent_can_have_made_has_no_forge() {
        let place = tempfile::tempdir().unwrap();
        let notes = place.path().join("state/begun");
        let repository = |path: &str| {
            let root = place.path().join(path);
            fs::create_dir_all(root.join(".git")).unwrap();
            let config = "[remote \"o\"]\nurl = https://forge.example/a\n";
            fs::write(root.join(".git/config"), config).unwrap();
            root
        };
        let theirs = [HostRule::name("forge.example")];
        let cloned = repository("cloned");
        for _ in 0..2 {
            assert_eq!(forges(&cloned, &notes).unwrap(), theirs);
        }
        let empty = place.path().join("empty");
        fs::create_dir(&empty).unwrap();
        assert!(forges(&empty, &notes).unwrap().is_empty());
        repository("empty");
        assert!(forges(&empty, &notes).unwrap().is_empty());
        let below = empty.join("below");
        fs::create_dir(&below).unwrap();
        assert!(forges(&below, &notes).unwrap().is_empty());
        // A part of a repository: the settings above it cannot be written, those of one in it could be.
        let part = cloned.join("part");
        fs::create_dir(&part).unwrap();
        assert_eq!(forges(&part, &notes).unwrap(), theirs);
        repository("cloned/part");
        assert!(forges(&part, &notes).unwrap().is_empty());
    }

    #[test]
    fn a_link_in_the_place_of_settings_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join(".git")).unwrap();
        let elsewhere = root.path().join("elsewhere");
        std::fs::write(&elsewhere, "[remote \"o\"]\nurl = https://evil.example/\n").unwrap();
        std::os::unix::fs::symlink(&elsewhere, root.path().join(".git/config")).unwrap();
        assert!(hosts(root.path()).is_empty());
    }
}
