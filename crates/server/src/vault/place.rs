//! Where the keys of a vault are.
//!
//! The file `vault-key` says it, a key on each line: the key itself, or the name of an entry in the keyring. The first
//! seals; the others only open, until a rotation that was begun is finished. A key in a variable stands before them.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use deft_types::Secret;

use super::key::Key;
use super::{VaultError, keyring, private_file};

/// The file in the data directory.
const FILE: &str = "vault-key";
/// What a line begins with that names an entry of the keyring.
const IN_KEYRING: &str = "keyring:";
/// Characters of such a name.
const NAME_LENGTH: usize = 16;

/// Where the keys of a vault are.
#[derive(Clone, Debug)]
pub struct VaultKeys {
    file: PathBuf,
    /// The keys that variables give: the one that seals, and those that only open.
    given: Option<Given>,
}

#[derive(Clone, Debug)]
struct Given {
    key: Secret<String>,
    before: Vec<Secret<String>>,
}

/// Where a key can be put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyHome {
    /// Into the file `vault-key`.
    File,
    /// Into the keyring of the user's desktop.
    Keyring,
}

/// One line of the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Line {
    Key(Secret<String>),
    InKeyring(String),
}

/// By what a file is known to be the same: each new one is another file.
pub(super) type Stamp = (u64, u64, i64, i64);

impl VaultKeys {
    /// Those of a data directory. `DEFT_VAULT_KEY` gives the key, `DEFT_VAULT_KEYS_BEFORE` those that only open.
    pub fn of(data_dir: &Path, variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name| variable(name).filter(|text| !text.trim().is_empty());
        let given = set("DEFT_VAULT_KEY").map(|key| Given {
            key: Secret::new(key.trim().to_owned()),
            before: set("DEFT_VAULT_KEYS_BEFORE")
                .unwrap_or_default()
                .split(',')
                .map(|key| Secret::new(key.trim().to_owned()))
                .filter(|key| !key.expose().is_empty())
                .collect(),
        });
        Self {
            file: data_dir.join(FILE),
            given,
        }
    }

    /// The file, whether it is there or not.
    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// Whether a variable says which key seals.
    pub(super) fn is_given(&self) -> bool {
        self.given.is_some()
    }

    /// All keys: the one that seals first. Where there is none at all, one is made.
    pub(super) fn read(&self) -> Result<Vec<Key>, VaultError> {
        let mut keys = Vec::new();
        if let Some(given) = &self.given {
            for text in [&given.key].into_iter().chain(&given.before) {
                keys.push(Key::read(text).ok_or(VaultError::Variable)?);
            }
        }
        for line in self.lines()? {
            keys.push(self.key_of(&line)?);
        }
        Ok(keys)
    }

    /// The lines of the file. It is made if it is missing and nothing else gives a key.
    pub(super) fn lines(&self) -> Result<Vec<Line>, VaultError> {
        if self.is_given() && !self.file.exists() {
            return Ok(Vec::new());
        }
        let make = || Ok(Key::random()?.text().expose().clone());
        let text = private_file::private_file(&self.file, make)?.value;
        Ok(text.expose().lines().map(Line::read).collect())
    }

    /// Puts these lines in the place of those in the file.
    pub(super) fn write(&self, lines: &[Line]) -> Result<(), VaultError> {
        let text: String = lines.iter().map(|line| line.written() + "\n").collect();
        private_file::replace(&self.file, &Secret::new(text))
    }

    /// Takes the file away.
    pub(super) fn remove_file(&self) -> Result<(), VaultError> {
        let removed = fs::remove_file(&self.file).and_then(|()| private_file::sync_directory(&self.file));
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(private_file::unusable(&self.file, &error))
            }
            _ => Ok(()),
        }
    }

    /// Which file it is at this moment; none if it is not there.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        let found = fs::symlink_metadata(&self.file).ok()?;
        Some((found.dev(), found.ino(), found.mtime(), found.mtime_nsec()))
    }

    fn key_of(&self, line: &Line) -> Result<Key, VaultError> {
        let key = match line {
            Line::Key(text) => Key::read(text),
            Line::InKeyring(name) => Key::read(&keyring::get(name)?),
        };
        key.ok_or_else(|| VaultError::KeyFile {
            path: self.file.clone(),
            reason: "it holds no key; put back the one that was there before".to_owned(),
        })
    }
}

impl Line {
    /// A new key, put where it is to be.
    pub(super) fn random(home: KeyHome) -> Result<Self, VaultError> {
        let key = Key::random()?.text().clone();
        match home {
            KeyHome::File => Ok(Self::Key(key)),
            KeyHome::Keyring => {
                let name: String = super::new_client_key()?.chars().take(NAME_LENGTH).collect();
                keyring::put(&name, &key)?;
                Ok(Self::InKeyring(name))
            }
        }
    }

    /// Forgets what the line stood for.
    pub(super) fn forget(&self) -> Result<(), VaultError> {
        match self {
            Self::Key(_) => Ok(()), // the line was all there was
            Self::InKeyring(name) => keyring::forget(name),
        }
    }

    fn read(line: &str) -> Self {
        match line.trim().strip_prefix(IN_KEYRING) {
            Some(name) => Self::InKeyring(name.to_owned()),
            None => Self::Key(Secret::new(line.trim().to_owned())),
        }
    }

    fn written(&self) -> String {
        match self {
            Self::Key(key) => key.expose().clone(),
            Self::InKeyring(name) => format!("{IN_KEYRING}{name}"),
        }
    }
}
