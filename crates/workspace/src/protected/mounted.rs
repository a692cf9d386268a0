//! Whether what is kept in a container is what lies in its directory.
//!
//! An engine is told names, and looks them up again whenever the container starts. Whoever works in the same directory, in
//! a container of their own, can have put a link in the place of one by then: what it leads to would be mounted.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Why a container cannot be worked in.
#[derive(Debug, thiserror::Error)]
pub enum MountedError {
    /// Something else was mounted.
    #[error(
        "{} is not mounted from the workspace, because something was put in its place; remove that and try again",
        .0.display()
    )]
    Other(PathBuf),
    /// It cannot be told.
    #[error("cannot tell what is mounted: {0}")]
    Unknown(#[from] io::Error),
}

/// Looks, in a container, at what was kept of the directory that is mounted as `root`.
pub fn check_mounted(root: &Path, kept: &[PathBuf]) -> Result<(), MountedError> {
    if kept.is_empty() {
        return Ok(());
    }
    let listed = fs::read("/proc/self/mountinfo")?;
    let listed = String::from_utf8_lossy(&listed); // others' names may be no text
    let mounts: Vec<Mounted> = listed.lines().filter_map(Mounted::parse).collect();
    match kept.iter().find(|path| !is_of_its_place(path, root, &mounts)) {
        Some(other) => Err(MountedError::Other(other.clone())),
        None => Ok(()),
    }
}

/// A line of the kernel's list.
#[derive(Debug, PartialEq, Eq)]
struct Mounted {
    device: String,
    /// What is mounted: a path in its file system, or on a server.
    source: PathBuf,
    place: PathBuf,
}

impl Mounted {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ').skip(2);
        let [device, source, place] = [words.next()?, words.next()?, words.next()?];
        // Behind a mark, because what is before it varies.
        let mut described = words.skip_while(|word| *word != "-").skip(1);
        let source = match described.next()? {
            // Its root is always told as `/`; what is mounted stands in the name of the device: `server:/export/directory`.
            "nfs" | "nfs4" => described.next()?,
            _ => source,
        };
        Some(Self {
            device: device.to_owned(),
            source: unescaped(source),
            place: unescaped(place),
        })
    }
}

/// Whether a mount is of the same place as the one that it lies in.
fn is_of_its_place(path: &Path, root: &Path, mounts: &[Mounted]) -> bool {
    // A later one covers those before it.
    let at = |place: &Path| mounts.iter().rev().find(|mounted| mounted.place == place);
    let mut around = path
        .ancestors()
        .skip(1)
        .take_while(|above| above.starts_with(root));
    let (Some(own), Some(around)) = (at(path), around.find_map(at)) else {
        return false;
    };
    let below = path.strip_prefix(&around.place);
    own.device == around.device && below.is_ok_and(|below| own.source == around.source.join(below))
}

/// Without the kernel's way to write spaces, tabs, ends of lines and backslashes.
fn unescaped(word: &str) -> PathBuf {
    let mut text = word.to_owned();
    for (escape, letter) in [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")] {
        text = text.replace(escape, letter);
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_of_another_place_is_found_out() {
        let listed = "\
1 0 0:1 / / rw - overlay overlay rw
2 1 8:1 /home/me/my\\040work /workspace rw - ext4 /dev/sda rw
3 2 8:1 /home/me/my\\040work/.git /workspace/.git rw - ext4 /dev/sda rw
4 3 8:1 /home/me/my\\040work/.git/config /workspace/.git/config ro - ext4 /dev/sda rw
5 2 8:1 /home/me/.ssh /workspace/evil rw - ext4 /dev/sda rw
6 2 8:2 / /workspace/disk rw - ext4 /dev/sdb rw
7 6 8:2 /repository/.git /workspace/disk/repository/.git ro - ext4 /dev/sdb rw
8 2 8:2 /home/me/my\\040work/other /workspace/other rw - ext4 /dev/sdb rw
9 2 0:50 / /workspace/shared rw shared:1 master:2 - nfs4 server:/export/my\\040work rw
10 9 0:50 / /workspace/shared/.git ro shared:1 - nfs4 server:/export/my\\040work/.git rw
11 9 0:50 / /workspace/shared/evil ro shared:1 - nfs4 server:/export/keys rw";
        let mounts: Vec<_> = listed.lines().filter_map(Mounted::parse).collect();
        let is_fine = |path: &str| is_of_its_place(Path::new(path), Path::new("/workspace"), &mounts);
        for fine in [".git", ".git/config", "disk/repository/.git", "shared/.git"] {
            assert!(is_fine(&format!("/workspace/{fine}")), "{fine}");
        }
        for wrong in ["evil", "other", "not-mounted", "shared/evil"] {
            assert!(!is_fine(&format!("/workspace/{wrong}")), "{wrong}");
        }
    }
}
