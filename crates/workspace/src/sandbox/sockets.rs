//! The sockets in the file system by which programs of this machine can be talked to.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Access, access};
use rustix::process::geteuid;

use super::machine::ENGINE_SOCKETS;

/// Where names of users are asked for: without it programs do not know who they run as.
const NAME_SERVICE: &str = "/var/lib/sss/pipes";
/// A younger one may be gone again before it is hidden, and then there would be no sandbox.
const SETTLED: Duration = Duration::from_secs(60);
/// The columns before the path in the kernel's list.
const COLUMNS: usize = 7;

/// Those that somebody has listened to for a while and that this user may talk to, by the paths that they were bound to.
/// First those of container engines, then the user's own.
pub(super) fn of_services() -> Vec<PathBuf> {
    let listed = fs::read("/proc/self/net/unix").unwrap_or_default();
    let listed = String::from_utf8_lossy(&listed);
    // Each connection is listed by the path too.
    let paths: BTreeSet<&Path> = listed.lines().filter_map(path).map(Path::new).collect();
    let settled = paths
        .into_iter()
        .filter(|path| path.symlink_metadata().is_ok_and(|data| is_settled(&data)))
        .filter(|path| access(*path, Access::WRITE_OK).is_ok());
    // Mounts are made by names without links.
    let sockets: BTreeSet<_> = settled.filter_map(|path| path.canonicalize().ok()).collect();
    let others = sockets.into_iter().filter(|path| !path.starts_with(NAME_SERVICE));
    let mut sockets: Vec<_> = others.collect();
    sockets.sort_by_cached_key(|path| (!is_engine(path), !is_ours(path)));
    sockets
}

fn is_engine(socket: &Path) -> bool {
    ENGINE_SOCKETS.iter().any(|engine| socket == Path::new(engine))
}

fn is_ours(socket: &Path) -> bool {
    socket
        .metadata()
        .is_ok_and(|data| data.uid() == geteuid().as_raw())
}

fn is_settled(data: &Metadata) -> bool {
    let age = data.modified().ok().and_then(|made| made.elapsed().ok());
    data.file_type().is_socket() && age.is_some_and(|age| age >= SETTLED)
}

/// The path in a line of the list. Those that begin with an `@` are in no file system.
fn path(line: &str) -> Option<&str> {
    let mut rest = line;
    for _ in 0..COLUMNS {
        rest = rest.trim_start().split_once(' ')?.1;
    }
    let path = rest.trim_start();
    path.starts_with('/').then_some(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

    use super::*;

    #[test]
    fn a_path_is_read_with_its_spaces_and_abstract_names_are_none() {
        for (line, expected) in [
            (
                "000000003c159f14: 00000002 00000000 00010000 0001 01 460001 /opt/a b.sock",
                Some("/opt/a b.sock"),
            ),
            (
                "0000000000000000: 00000002 00000000 00010000 0001 01     7 /run/x",
                Some("/run/x"),
            ),
            (
                "0000000000000000: 00000003 00000000 00000000 0001 03 17 @/tmp/x",
                None,
            ),
            ("0000000000000000: 00000003 00000000 00000000 0001 03 17", None),
            ("Num       RefCount Protocol Flags    Type St Inode Path", None),
        ] {
            assert_eq!(path(line), expected, "{line}");
        }
    }

    #[test]
    fn who_has_listened_for_a_while_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().canonicalize().unwrap().join("service");
        let _listener = UnixListener::bind(&socket).unwrap();
        assert!(!of_services().contains(&socket));
        let then = Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        };
        let times = Timestamps {
            last_access: then,
            last_modification: then,
        };
        utimensat(CWD, &socket, &times, AtFlags::empty()).unwrap();
        assert!(of_services().contains(&socket));
    }
}
