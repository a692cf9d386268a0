//! The history.

use std::path::Path;

use super::{Commit, CommitPage, Git};
use crate::request_error::RequestError;

/// Commits of a page.
const MAX_COMMITS: usize = 200;

impl Git {
    pub(super) async fn commits(
        &self,
        path: &Path,
        skip: usize,
        limit: usize,
    ) -> Result<CommitPage, RequestError> {
        let repository = self.repository(path).await?;
        let Some(head) = repository.commit("HEAD").await? else {
            return Ok(CommitPage {
                commits: Vec::new(),
                has_more: false,
            });
        };
        let limit = limit.clamp(1, MAX_COMMITS);
        let output = repository
            .ask(&[
                "log",
                "-z",
                "--encoding=UTF-8",
                "--no-show-signature",
                "--format=%H%x00%h%x00%s%x00%an%x00%aI",
                &format!("--skip={skip}"),
                &format!("--max-count={}", limit + 1),
                &head,
                "--",
            ])
            .await?;
        let fields: Vec<String> = output
            .split(|byte| *byte == 0)
            .map(|field| String::from_utf8_lossy(field).into_owned())
            .collect();
        let mut commits: Vec<Commit> = fields
            .chunks_exact(5)
            .filter_map(|fields| <&[String; 5]>::try_from(fields).ok())
            .map(|[sha, short_sha, subject, author, timestamp]| Commit {
                sha: sha.clone(),
                short_sha: short_sha.clone(),
                subject: subject.clone(),
                author: author.clone(),
                timestamp: timestamp.clone(),
            })
            .collect();
        let has_more = commits.len() > limit;
        commits.truncate(limit);
        Ok(CommitPage { commits, has_more })
    }
}
