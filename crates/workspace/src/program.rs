//! Our own program, as it is told apart from other versions where it has been brought.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use ring::digest::{Context, SHA256};

const PIECE_BYTES: usize = 1024 * 1024;

/// A program of many megabytes that is told apart by its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The SHA-256 of its content, in hexadecimal digits.
    pub hash: String,
    /// How long it is.
    pub bytes: u64,
}

/// A file that was looked at, as long as it is the same.
type Seen = (PathBuf, u64, SystemTime);

/// Reading a whole program takes longer than joining an executor, so it is done once.
static KNOWN: Mutex<Option<HashMap<Seen, Program>>> = Mutex::new(None);

impl Program {
    /// The program in a file.
    pub async fn of(path: &Path) -> io::Result<Self> {
        let path = path.to_owned();
        let looked = tokio::task::spawn_blocking(move || Self::look(path)).await;
        looked.map_err(io::Error::other)?
    }

    fn look(path: PathBuf) -> io::Result<Self> {
        let found = fs::metadata(&path)?;
        let seen = (path, found.len(), found.modified()?);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_default();
        if let Some(program) = known.get(&seen) {
            return Ok(program.clone());
        }
        let program = Self::read(&seen.0)?;
        known.insert(seen, program.clone());
        Ok(program)
    }

    fn read(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut hash = Context::new(&SHA256);
        let mut bytes = 0;
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let count = file.read(&mut piece)?;
            if count == 0 {
                break;
            }
            hash.update(&piece[..count]);
            bytes += count as u64;
        }
        let hash = hash.finish();
        let hash = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { hash, bytes })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[tokio::test]
    async fn another_content_is_another_program() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("deft");
        fs::write(&path, "abc").unwrap();
        let program = Program::of(&path).await.unwrap();
        assert_eq!(program.bytes, 3);
        assert_eq!(
            program.hash,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(Program::of(&path).await.unwrap(), program);
        fs::write(&path, "abcd").unwrap();
        assert_ne!(Program::of(&path).await.unwrap(), program);
        assert!(Program::of(&place.path().join("none")).await.is_err());
    }
}
