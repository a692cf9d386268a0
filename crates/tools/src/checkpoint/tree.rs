//! What a workspace looked like at one moment: each path with what was there.
//!
//! Written as records that end with a zero byte, which no path can hold; names need not be text.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::hash::Hash;
use super::stamp::Stamp;

/// A path below the workspace, as its bytes. Parents come before what is in them.
pub(super) type RelativePath = Vec<u8>;

/// Everything below the workspace's root.
pub(super) type Tree = BTreeMap<RelativePath, Entry>;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A file whose content is among the objects.
    File {
        mode: u32,
        hash: Hash,
        stamp: Stamp,
        /// Whether it may have changed in the same tick of the clock: the stamp alone proves nothing then.
        fresh: bool,
    },
    /// A link and where it points.
    Symlink { target: Vec<u8> },
    /// A directory, empty or not.
    Directory { mode: u32 },
    /// It is there, but there is no copy of it.
    NotKept { why: NotKept, stamp: Stamp },
}

/// Why there is no copy of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotKept {
    /// An ignore file names it, or it belongs to a version control system.
    Ignored,
    /// It is larger than a single file may be.
    TooLarge,
    /// The files before it took all the room there is for one checkpoint.
    NoRoom,
    /// It cannot be read.
    Unreadable,
    /// It is a socket, a pipe or a device.
    Special,
    /// Another file system is mounted there.
    Mounted,
}

const REASONS: [(NotKept, &str); 6] = [
    (NotKept::Ignored, "ignored"),
    (NotKept::TooLarge, "large"),
    (NotKept::NoRoom, "room"),
    (NotKept::Unreadable, "unreadable"),
    (NotKept::Special, "special"),
    (NotKept::Mounted, "mounted"),
];

impl Entry {
    /// Whether both stand for the same thing: when it was written does not matter.
    pub(super) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::File { mode, hash, .. },
                Self::File {
                    mode: other_mode,
                    hash: other_hash,
                    ..
                },
            ) => mode == other_mode && hash == other_hash,
            (one, two) => one == two,
        }
    }

    /// How large it is, where that means something.
    pub(super) fn size(&self) -> Option<u64> {
        match self {
            Self::File { stamp, .. } | Self::NotKept { stamp, .. } => Some(stamp.size),
            Self::Symlink { .. } | Self::Directory { .. } => None,
        }
    }
}

/// Whether something of a tree that has no copy stands above the path: then the tree knows nothing of it.
pub(super) fn hides(tree: &Tree, path: &[u8]) -> bool {
    let above = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    above
        .map(|(end, _)| &path[..end])
        .any(|parent| matches!(tree.get(parent), Some(Entry::NotKept { .. })))
}

/// The bytes that [`decode`] reads.
pub(super) fn encode(tree: &Tree) -> Vec<u8> {
    let mut out = Vec::with_capacity(tree.len() * 160);
    for (path, entry) in tree {
        let head = match entry {
            Entry::File {
                mode,
                hash,
                stamp,
                fresh,
            } => format!("F {mode:o} {hash} {stamp} {} ", u8::from(*fresh)),
            Entry::Symlink { .. } => "L ".to_owned(),
            Entry::Directory { mode } => format!("D {mode:o} "),
            Entry::NotKept { why, stamp } => {
                let name = REASONS.iter().find(|(known, _)| known == why);
                format!("N {} {stamp} ", name.map_or("", |(_, name)| name))
            }
        };
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(path);
        out.push(0);
        if let Entry::Symlink { target } = entry {
            out.extend_from_slice(target);
            out.push(0);
        }
    }
    out
}

/// The tree of these bytes, or nothing if they are damaged.
pub(super) fn decode(bytes: &[u8]) -> Option<Tree> {
    let mut tree = Tree::new();
    if bytes.is_empty() {
        return Some(tree);
    }
    let mut records = bytes.strip_suffix(b"\0")?.split(|byte| *byte == 0);
    while let Some(record) = records.next() {
        let mut fields = Fields(record);
        let entry = match fields.text()? {
            "F" => Entry::File {
                mode: u32::from_str_radix(fields.text()?, 8).ok()?,
                hash: Hash::parse(fields.text()?)?,
                stamp: fields.stamp()?,
                fresh: fields.text()? != "0",
            },
            "L" => Entry::Symlink {
                target: records.next()?.to_vec(),
            },
            "D" => Entry::Directory {
                mode: u32::from_str_radix(fields.text()?, 8).ok()?,
            },
            "N" => {
                let name = fields.text()?;
                let (why, _) = REASONS.iter().find(|(_, known)| *known == name)?;
                Entry::NotKept {
                    why: *why,
                    stamp: fields.stamp()?,
                }
            }
            _ => return None,
        };
        let is_plain = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
        if !fields.0.split(|byte| *byte == b'/').all(is_plain) {
            return None; // it would lead out of the workspace
        }
        tree.insert(fields.0.to_vec(), entry);
    }
    Some(tree)
}

/// The fields of a record, read from the front; the path is what is left.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn text(&mut self) -> Option<&'a str> {
        let end = self.0.iter().position(|byte| *byte == b' ')?;
        let field = std::str::from_utf8(&self.0[..end]).ok()?;
        self.0 = &self.0[end + 1..];
        Some(field)
    }

    fn stamp(&mut self) -> Option<Stamp> {
        Some(Stamp {
            size: self.text()?.parse().ok()?,
            modified: self.text()?.parse().ok()?,
            changed: self.text()?.parse().ok()?,
            inode: self.text()?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_damage_is_noticed() {
        let stamp = Stamp {
            size: 3,
            modified: -5,
            changed: 7,
            inode: 9,
        };
        let file = |fresh| Entry::File {
            mode: 0o755,
            hash: Hash::of(b"x"),
            stamp,
            fresh,
        };
        let mut tree = Tree::from([
            (b"a b\xff".to_vec(), file(true)),
            (b"d".to_vec(), Entry::Directory { mode: 0o700 }),
            (b"d/f".to_vec(), file(false)),
            (
                b"l".to_vec(),
                Entry::Symlink {
                    target: b"../ \xfe".to_vec(),
                },
            ),
        ]);
        for (why, name) in REASONS {
            tree.insert(name.into(), Entry::NotKept { why, stamp });
        }
        let bytes = encode(&tree);
        assert_eq!(decode(&bytes), Some(tree));
        assert_eq!(decode(b""), Some(Tree::new()));
        assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
        assert_eq!(decode(b"D 755 ../x\0"), None);
        assert_eq!(decode(b"D 755 /x\0"), None);
        assert_eq!(decode(b"L x\0"), None);
    }
}
