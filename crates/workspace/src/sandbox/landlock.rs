//! Which files can be reached, enforced by Landlock.
//!
//! Landlock gives rights to whole trees. What is hidden is therefore carved out: the directories above it give
//! nothing, and each of their other entries is given by itself. Links are never followed on the way, or one that
//! points to what is hidden would give it away.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use ::landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, make_bitflags,
};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};

use super::{Plan, Tier};

/// Devices that programs expect and that hold nothing.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// A version of Landlock, as far as versions differ in what we use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Abi(ABI);

impl Abi {
    pub(super) fn number(self) -> u8 {
        self.0 as u8
    }
}

impl From<u8> for Abi {
    fn from(number: u8) -> Self {
        Self(ABI::from(i32::from(number)))
    }
}

/// The newest version whose rights this kernel knows.
pub(super) fn supported() -> Option<Abi> {
    use ABI::{V1, V2, V3, V4, V5, V6, V9};
    let newest = [V9, V6, V5, V4, V3, V2, V1]
        .into_iter()
        .find(|abi| handled(*abi).and_then(Ruleset::create).is_ok());
    newest.map(Abi)
}

/// Rules for all that a version can rule over; an error if the kernel does not know it.
fn handled(abi: ABI) -> Result<Ruleset, RulesetError> {
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))?;
    // Ports say nothing about hosts: the network is ruled by other means. Only asked for to tell versions apart.
    let rules = if abi == ABI::V4 {
        rules.handle_access(AccessNet::ConnectTcp)?
    } else {
        rules
    };
    if abi >= ABI::V6 {
        rules.scope(Scope::from_all(abi))
    } else {
        Ok(rules)
    }
}

/// Restricts this thread and all that it will start, for ever.
pub(super) fn restrict(plan: &Plan, writable: &[PathBuf]) -> io::Result<()> {
    let abi = Abi::from(plan.landlock).0;
    // Version 4 rules over ports too, of which we would have to allow all.
    let abi = if abi == ABI::V4 { ABI::V3 } else { abi };
    let mut rules = Rules {
        created: handled(abi).and_then(Ruleset::create).map_err(io::Error::other)?,
        abi,
    };
    let read = make_bitflags!(AccessFs::{ReadFile | ReadDir | Execute});
    let mut hidden = plan.policy.hidden.clone();
    hidden.push("/dev".into());
    for root in &plan.policy.readable {
        // Without it nobody could list a directory above a hidden one.
        rules.allow(root, AccessFs::ReadDir.into())?;
        for tree in carve(root, &hidden) {
            rules.allow_if_there(&tree, read)?;
        }
    }
    let device = make_bitflags!(AccessFs::{ReadFile | ReadDir | WriteFile | Truncate | IoctlDev});
    match plan.tier {
        // bubblewrap made one with these devices and no others.
        Tier::Namespaces => rules.allow("/dev".as_ref(), device)?,
        Tier::Landlock => {
            for path in DEVICES {
                rules.allow_if_there(path.as_ref(), device)?;
            }
        }
    }
    let special = make_bitflags!(AccessFs::{MakeChar | MakeBlock | IoctlDev});
    for root in writable {
        rules.allow(root, AccessFs::from_all(abi) & !special)?;
    }
    rules.created.restrict_self().map_err(io::Error::other)?;
    Ok(())
}

struct Rules {
    created: RulesetCreated,
    abi: ABI,
}

impl Rules {
    fn allow(&mut self, path: &Path, rights: BitFlags<AccessFs>) -> io::Result<()> {
        let place = open(
            path,
            OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        let kind = FileType::from_raw_mode(fstat(&place)?.st_mode);
        if kind.is_symlink() {
            return Ok(()); // where it leads is given, or not, by itself
        }
        let known = if kind.is_dir() {
            AccessFs::from_all(self.abi)
        } else {
            AccessFs::from_file(self.abi)
        };
        let rule: PathBeneath<OwnedFd> = PathBeneath::new(place, rights & known);
        (&mut self.created).add_rule(rule).map_err(io::Error::other)?;
        Ok(())
    }

    /// For what may be gone by now.
    fn allow_if_there(&mut self, path: &Path, rights: BitFlags<AccessFs>) -> io::Result<()> {
        match self.allow(path, rights) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            outcome => outcome,
        }
    }
}

/// The trees below a directory that together are all of it but what is hidden.
fn carve(tree: &Path, hidden: &[PathBuf]) -> Vec<PathBuf> {
    if hidden.iter().any(|path| path == tree) {
        return Vec::new();
    }
    if !hidden.iter().any(|path| path.starts_with(tree)) {
        return vec![tree.to_owned()];
    }
    let entries = fs::read_dir(tree).into_iter().flatten().flatten();
    entries.flat_map(|entry| carve(&entry.path(), hidden)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_in_none_of_the_trees() {
        let home = tempfile::tempdir().unwrap();
        for directory in ["a/b", "a/secret/deep", "c"] {
            fs::create_dir_all(home.path().join(directory)).unwrap();
        }
        let hidden = [home.path().join("a/secret")];
        let mut trees = carve(home.path(), &hidden);
        trees.sort();
        assert_eq!(trees, [home.path().join("a/b"), home.path().join("c")]);
        assert_eq!(carve(&home.path().join("c"), &hidden), [home.path().join("c")]);
        assert!(carve(&hidden[0], &hidden).is_empty());
    }
}
