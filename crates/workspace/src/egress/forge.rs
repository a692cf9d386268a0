//! The forge that a repository comes from.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use url::{Host, Url};

/// How much of git's settings is read.
const MAX_CONFIG: u64 = 64 * 1024;

/// The hosts of a repository's remotes. Its settings are read as data: neither links nor includes are followed.
pub(super) fn hosts(root: &Path) -> Vec<String> {
    let path = root.join(".git/config");
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = open(path, flags, Mode::empty()) else {
        return Vec::new();
    };
    let mut text = String::new();
    match File::from(file).take(MAX_CONFIG).read_to_string(&mut text) {
        Ok(_) => hosts_in(&text),
        Err(_) => Vec::new(),
    }
}

fn hosts_in(config: &str) -> Vec<String> {
    let mut of_remote = false;
    let mut hosts = Vec::new();
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            of_remote = line.starts_with("[remote ");
        } else if of_remote
            && let Some((key, value)) = line.split_once('=')
            && key.trim() == "url"
        {
            hosts.extend(host_of(value.trim()));
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
	url = ssh://git@codeberg.org:22/a/b
[remote "inner"]
    url = http://192.168.1.1/a
    url = http://localhost/a
    url = ../other
"#;
        assert_eq!(
            hosts_in(config),
            ["github.com", "gitlab.example.com", "codeberg.org"]
        );
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
