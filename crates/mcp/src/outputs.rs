//! Answers that are too long to be shown, kept in files.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use uuid::Uuid;

use crate::limits::MAX_SHOWN;
use crate::text::without_middle;

/// How many long answers of one server are kept; the oldest go first.
const KEPT: usize = 32;

/// The long answers of one server.
pub(crate) struct Outputs {
    directory: PathBuf,
    kept: Mutex<VecDeque<PathBuf>>,
}

impl Outputs {
    /// In the directory where tools keep their outputs.
    pub(crate) fn new(private: &Path) -> Self {
        Self {
            directory: private.join("outputs"),
            kept: Mutex::default(),
        }
    }

    /// The text itself, or without its middle if it is long; then all of it is in a file that the text names.
    pub(crate) async fn shown(&self, text: String) -> String {
        if text.len() <= MAX_SHOWN || text.chars().count() <= MAX_SHOWN {
            return text;
        }
        let saved = match self.keep(&text).await {
            Ok(file) => format!("the whole answer is in {}", file.display()),
            Err(error) => format!("the whole answer could not be saved: {error}"),
        };
        let notice = format!(
            "\n[… the middle of {} is left out here; {saved} …]\n",
            size(text.len())
        );
        without_middle(&text, MAX_SHOWN, &notice)
    }

    async fn keep(&self, text: &str) -> std::io::Result<PathBuf> {
        let file = self
            .directory
            .join(format!("mcp-{}.txt", Uuid::new_v4().simple()));
        tokio::fs::create_dir_all(&self.directory).await?;
        tokio::fs::write(&file, text).await?;
        let oldest = {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push_back(file.clone());
            if kept.len() > KEPT { kept.pop_front() } else { None }
        };
        if let Some(oldest) = oldest {
            let _ = tokio::fs::remove_file(oldest).await; // somebody else may have removed it
        }
        Ok(file)
    }
}

/// A number of bytes, for people.
pub(crate) fn size(bytes: usize) -> String {
    format!("{bytes} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_long_answer_is_shown_in_part_and_kept_whole() {
        let directory = tempfile::tempdir().unwrap();
        let outputs = Outputs::new(directory.path());
        let long = format!("begin{}end", "ä".repeat(MAX_SHOWN));
        let text = outputs.shown(long.clone()).await;
        assert!(text.chars().count() <= MAX_SHOWN);
        assert!(text.starts_with("begin") && text.ends_with("end"));
        let (_, rest) = text.split_once("the whole answer is in ").unwrap();
        let (file, _) = rest.split_once(" …]").unwrap();
        assert_eq!(std::fs::read_to_string(file).unwrap(), long);
        for _ in 0..KEPT {
            outputs.shown(long.clone()).await;
        }
        assert!(!Path::new(file).exists(), "the oldest goes first");
        assert_eq!(
            std::fs::read_dir(directory.path().join("outputs"))
                .unwrap()
                .count(),
            KEPT
        );
    }
}
