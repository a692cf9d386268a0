//! What the engine tells while it works: a JSON value a line.

use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::api::Answer;
use crate::error::DockerError;

/// A line that is longer is given up.
const MAX_LINE_BYTES: usize = 1024 * 1024;

/// Reads the lines.
pub(crate) struct Report {
    answer: Answer,
    pending: Vec<u8>,
}

impl Report {
    pub(crate) fn new(answer: Answer) -> Self {
        Self {
            answer,
            pending: Vec::new(),
        }
    }

    /// The next line, which may take so long. Those that are something else are passed over.
    pub(crate) async fn next<T: DeserializeOwned>(
        &mut self,
        silence: Duration,
    ) -> Result<Option<T>, DockerError> {
        loop {
            while let Some(end) = self.pending.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                if let Ok(line) = serde_json::from_slice(&line) {
                    return Ok(Some(line));
                }
            }
            if self.pending.len() > MAX_LINE_BYTES {
                return Err(DockerError::Broken {
                    what: "tell how it is doing",
                    reason: "a line of its report is too long".to_owned(),
                });
            }
            match self.answer.next(silence).await? {
                Some(piece) => self.pending.extend_from_slice(&piece),
                None => return Ok(None),
            }
        }
    }
}
