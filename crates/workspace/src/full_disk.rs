//! Telling from a program's words that a disk is full.

/// What systems say of a disk that is full, or of a user's part of it that is.
const WORDS: [&str; 2] = ["no space left on device", "disk quota exceeded"];

/// Whether these words of a program or a server are about a full disk.
pub fn says_disk_is_full(words: &str) -> bool {
    let lower = words.to_lowercase();
    WORDS.iter().any(|words| lower.contains(words))
}
