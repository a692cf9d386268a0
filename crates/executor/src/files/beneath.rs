//! Opens a path beneath a directory, whatever links and `..` on the way try.
//!
//! The kernel does it in one step (`openat2`), so nothing can be swapped between a look and an opening. Kernels
//! older than 5.6, and filters that know no `openat2`, get a walk that opens one name after the other and reads
//! links itself.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2, readlinkat};
use rustix::io::{Errno, Result, dup};

/// How often the kernel is asked again when somebody moves directories about.
const MAX_TRIES: usize = 32;
/// Links that a walk follows, as many as the kernel does.
const MAX_LINKS: usize = 40;

/// What to do about links.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// Follow those that stay beneath.
    Follow,
    /// There must be none.
    Refuse,
}

/// Opens a path relative to `root`. One that leads out is `Errno::XDEV`.
pub(super) fn open(root: BorrowedFd<'_>, path: &Path, flags: OFlags, links: Links) -> Result<OwnedFd> {
    let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    resolve.set(ResolveFlags::NO_SYMLINKS, links == Links::Refuse);
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    for _ in 0..MAX_TRIES {
        match openat2(root, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
            Err(Errno::AGAIN) => {}
            Err(Errno::NOSYS | Errno::PERM) => return walk(root, path, flags, links),
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

/// The same, name by name.
fn walk(root: BorrowedFd<'_>, path: &Path, flags: OFlags, links: Links) -> Result<OwnedFd> {
    let mut above: Vec<OwnedFd> = Vec::new();
    let mut here = dup(root)?;
    let mut followed = 0;
    let mut names: VecDeque<OsString> = VecDeque::new();
    put_in_front(&mut names, path)?;
    while let Some(name) = names.pop_front() {
        if name == ".." {
            here = above.pop().ok_or(Errno::XDEV)?;
            continue;
        }
        let last = names.is_empty();
        let found = openat(
            &here,
            &*name,
            OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        match FileType::from_raw_mode(fstat(&found)?.st_mode) {
            FileType::Symlink if !(last && flags.contains(OFlags::NOFOLLOW)) => {
                followed += 1;
                if links == Links::Refuse || followed > MAX_LINKS {
                    return Err(Errno::LOOP);
                }
                let target = readlinkat(&found, "", Vec::new())?;
                put_in_front(&mut names, Path::new(OsStr::from_bytes(target.as_bytes())))?;
            }
            // Opened anew, as asked: if it has become a link since, that fails.
            _ if last => {
                let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                return openat(&here, &*name, flags, Mode::empty());
            }
            FileType::Directory => above.push(std::mem::replace(&mut here, found)),
            _ => return Err(Errno::NOTDIR),
        }
    }
    openat(here.as_fd(), ".", flags | OFlags::CLOEXEC, Mode::empty())
}

fn put_in_front(names: &mut VecDeque<OsString>, path: &Path) -> Result<()> {
    for component in path.components().rev() {
        match component {
            Component::Normal(name) => names.push_front(name.to_owned()),
            Component::ParentDir => names.push_front("..".into()),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    type Way = fn(BorrowedFd<'_>, &Path, OFlags, Links) -> Result<OwnedFd>;

    #[test]
    fn both_ways_agree_on_what_is_beneath() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/file"), "inside").unwrap();
        fs::write(place.path().join("secret"), "outside").unwrap();
        symlink("a/file", root.join("in")).unwrap();
        symlink("../a", root.join("a/b/up")).unwrap();
        symlink("../secret", root.join("out")).unwrap();
        symlink("..", root.join("dots")).unwrap();
        symlink(root.join("a/file"), root.join("absolute")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("/proc/self/root", root.join("magic")).unwrap();
        let directory = fs::File::open(&root).unwrap();

        let expected = [
            ("a/file", Ok("inside")),
            ("a/b/../file", Ok("inside")),
            ("./a//./file", Ok("inside")),
            ("in", Ok("inside")),
            ("a/b/../../in", Ok("inside")),
            ("../secret", Err(Errno::XDEV)),
            ("a/../../secret", Err(Errno::XDEV)),
            ("/etc/passwd", Err(Errno::XDEV)),
            ("out", Err(Errno::XDEV)),
            ("dots/secret", Err(Errno::XDEV)),
            ("absolute", Err(Errno::XDEV)),
            ("magic/etc/passwd", Err(Errno::XDEV)),
            ("loop", Err(Errno::LOOP)),
            ("a/file/x", Err(Errno::NOTDIR)),
            ("none", Err(Errno::NOENT)),
        ];
        for (way, name) in [(open as Way, "kernel"), (walk as Way, "walk")] {
            for (path, expected) in expected {
                let opened = way(directory.as_fd(), Path::new(path), OFlags::RDONLY, Links::Follow);
                let read = opened.map(|file| {
                    let mut text = String::new();
                    fs::File::from(file).read_to_string(&mut text).unwrap();
                    text
                });
                assert_eq!(read, expected.map(str::to_owned), "{path} by {name}");
            }
            let linked = way(directory.as_fd(), Path::new("in"), OFlags::RDONLY, Links::Refuse);
            assert_eq!(linked.unwrap_err(), Errno::LOOP, "{name}");
            let top = way(directory.as_fd(), Path::new("a/.."), OFlags::PATH, Links::Follow);
            assert!(top.is_ok(), "{name}");
        }
    }
}
