//! Keeps what a command prints: its beginning and its end in memory, all of it in a file if it is much.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// Bytes kept from the beginning. Four bytes a character: more than half of what is shown (`SHOWN_LIMIT`).
const HEAD_LIMIT: usize = 64 * 1024;
/// Bytes kept from the end.
const TAIL_LIMIT: usize = 64 * 1024;
/// How many bytes are collected before they are written to the file.
const BATCH: usize = 256 * 1024;
/// How large the file of one output may become; the rest is dropped.
pub(super) const FILE_LIMIT: u64 = 1 << 30;

/// The beginning and the end of a stream of any length.
#[derive(Debug, Default)]
pub(super) struct HeadTail {
    head: Vec<u8>,
    /// The end, and some of what comes before it.
    tail: Vec<u8>,
    total: u64,
}

impl HeadTail {
    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(HEAD_LIMIT - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(rest);
        // Not each time, because it moves all that stays.
        if self.tail.len() > 2 * TAIL_LIMIT {
            self.tail.drain(..self.tail.len() - TAIL_LIMIT);
        }
    }

    /// The beginning, and the end if something is missing between the two.
    pub(super) fn parts(mut self) -> (Vec<u8>, Option<Vec<u8>>) {
        if self.total <= (HEAD_LIMIT + TAIL_LIMIT) as u64 {
            self.head.extend(self.tail);
            (self.head, None)
        } else {
            self.tail.drain(..self.tail.len().saturating_sub(TAIL_LIMIT));
            (self.head, Some(self.tail))
        }
    }

    /// How many bytes there ever were.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Removes the beginning of a character whose rest has not come yet.
    fn split_unfinished_character(&mut self) -> Vec<u8> {
        let part = if self.tail.is_empty() {
            &mut self.head
        } else {
            &mut self.tail
        };
        let end = &part[part.len().saturating_sub(3)..];
        let unfinished = (1..=end.len())
            .find(|length| {
                let bytes = &end[end.len() - length..];
                bytes[0] >= 0xC2 && std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
            })
            .unwrap_or(0);
        self.total -= unfinished as u64;
        part.split_off(part.len() - unfinished)
    }
}

/// What has come since the last observation.
#[derive(Debug)]
pub(super) struct Capture {
    pub(super) kept: HeadTail,
    unsaved: Vec<u8>,
    saved: u64,
    file: PathBuf,
}

impl Capture {
    /// An empty one, whose file will be made in a directory once it is needed.
    pub(super) fn new(directory: &Path) -> Self {
        let file = directory.join(format!("{}.txt", Uuid::new_v4().simple()));
        Self {
            kept: HeadTail::default(),
            unsaved: Vec::new(),
            saved: 0,
            file,
        }
    }

    /// Adds output.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.kept.push(bytes);
        if self.saved < FILE_LIMIT {
            self.unsaved.extend_from_slice(bytes);
        }
    }

    /// What is to be written to the file now, if it is enough.
    pub(super) fn due(&mut self) -> Option<Batch> {
        (self.unsaved.len() >= BATCH).then(|| self.batch())
    }

    /// Takes everything and leaves an empty capture, but for half a character.
    pub(super) fn take_unfinished(&mut self) -> Self {
        let mut taken = self.take();
        let rest = taken.kept.split_unfinished_character();
        taken
            .unsaved
            .truncate(taken.unsaved.len().saturating_sub(rest.len()));
        self.push(&rest);
        taken
    }

    /// Takes everything and leaves an empty capture.
    pub(super) fn take(&mut self) -> Self {
        let next = Self::new(self.file.parent().unwrap_or(Path::new("")));
        std::mem::replace(self, next)
    }

    /// The file the whole output is in once [`Capture::batch`] is written.
    pub(super) fn file(&self) -> PathBuf {
        self.file.clone()
    }

    /// What is not in the file yet.
    pub(super) fn batch(&mut self) -> Batch {
        let batch = Batch {
            file: self.file.clone(),
            offset: self.saved,
            bytes: std::mem::take(&mut self.unsaved),
        };
        self.saved += batch.bytes.len() as u64;
        batch
    }
}

/// Bytes on their way to a file.
#[derive(Debug)]
pub(super) struct Batch {
    file: PathBuf,
    offset: u64,
    bytes: Vec<u8>,
}

impl Batch {
    /// Writes the bytes where they belong, off the async threads.
    pub(super) async fn write(self) -> io::Result<()> {
        tokio::task::spawn_blocking(move || {
            OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .mode(0o600)
                .open(&self.file)?
                .write_all_at(&self.bytes, self.offset)
        })
        .await
        .map_err(io::Error::other)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_dropped() {
        let mut buffer = HeadTail::default();
        for number in 0..100_000_u32 {
            buffer.push(format!("{number:07}\n").as_bytes());
        }
        assert_eq!(buffer.total(), 800_000);
        let (head, tail) = buffer.parts();
        assert!(head.starts_with(b"0000000\n0000001\n"));
        assert!(tail.is_some_and(|tail| tail.len() == TAIL_LIMIT && tail.ends_with(b"0099999\n")));
    }

    #[test]
    fn one_large_piece_is_treated_like_many_small_ones() {
        let bytes: Vec<u8> = (0..300_000_u32).map(|number| (number % 251) as u8).collect();
        let (mut whole, mut pieces) = (HeadTail::default(), HeadTail::default());
        whole.push(&bytes);
        bytes.chunks(7).for_each(|piece| pieces.push(piece));
        assert_eq!(whole.total(), pieces.total());
        assert_eq!(whole.parts(), pieces.parts());
    }

    #[test]
    fn half_a_character_waits_for_its_other_half() {
        let mut capture = Capture::new(Path::new(""));
        capture.push("häß".as_bytes().split_last().unwrap().1);
        let first = capture.take_unfinished();
        capture.push(&"ß".as_bytes()[1..]);
        assert_eq!(first.kept.parts().0, "hä".as_bytes());
        assert_eq!(capture.take().kept.parts().0, "ß".as_bytes());
    }
}
