//! Git repositories of a workspace, as a client asks about them. Paths are absolute or relative to the workspace.

use super::Client;
use crate::git::{Against, Change, CommitPage, FileDiff, FileReview, GitRequest, RepositoryInfo};
use crate::request_error::RequestError;
use crate::work::Work;

impl Client {
    /// Which files of a directory differ from a commit, or from the one that people mean. Nothing, where there is
    /// no repository.
    pub async fn git_changes(&self, path: &str, revision: Option<&str>) -> Result<Vec<Change>, RequestError> {
        let (path, revision) = (path.to_owned(), revision.map(str::to_owned));
        self.ask(Work::Git(GitRequest::Changes { path, revision })).await
    }

    /// A file before and after.
    pub async fn git_diff(&self, path: &str, against: Against) -> Result<FileDiff, RequestError> {
        let path = path.to_owned();
        self.ask(Work::Git(GitRequest::Diff { path, against })).await
    }

    /// A file as a reviewer sees it, compared with a commit or with the one that people mean.
    pub async fn git_review(&self, path: &str, revision: Option<&str>) -> Result<FileReview, RequestError> {
        let (path, revision) = (path.to_owned(), revision.map(str::to_owned));
        self.ask(Work::Git(GitRequest::Review { path, revision })).await
    }

    /// What has become of a file in a directory, compared with a commit or with the one that people mean: a patch in
    /// which names begin at the directory.
    pub async fn git_patch(
        &self,
        path: &str,
        file: &str,
        revision: Option<&str>,
    ) -> Result<Vec<u8>, RequestError> {
        let (path, file) = (path.to_owned(), file.to_owned());
        let revision = revision.map(str::to_owned);
        let request = GitRequest::Patch { path, file, revision };
        let letters: String = self.ask(Work::Git(request)).await?;
        Ok(letters
            .chars()
            .filter_map(|letter| u8::try_from(letter).ok())
            .collect())
    }

    /// Makes a file what it was, if it is still in the state of this version.
    pub async fn git_revert(
        &self,
        path: &str,
        revision: Option<&str>,
        version: &str,
    ) -> Result<(), RequestError> {
        let (path, revision) = (path.to_owned(), revision.map(str::to_owned));
        let version = version.to_owned();
        self.ask(Work::Git(GitRequest::Revert {
            path,
            revision,
            version,
        }))
        .await
    }

    /// The history of what is checked out, the newest first.
    pub async fn git_commits(
        &self,
        path: &str,
        skip: usize,
        limit: usize,
    ) -> Result<CommitPage, RequestError> {
        let path = path.to_owned();
        self.ask(Work::Git(GitRequest::Commits { path, skip, limit }))
            .await
    }

    /// Which files a commit changed.
    pub async fn git_commit_changes(&self, path: &str, revision: &str) -> Result<Vec<Change>, RequestError> {
        let (path, revision) = (path.to_owned(), revision.to_owned());
        self.ask(Work::Git(GitRequest::CommitChanges { path, revision }))
            .await
    }

    /// The repository that a directory is in, and those directly in it.
    pub async fn git_repositories(&self, path: &str) -> Result<Vec<RepositoryInfo>, RequestError> {
        let path = path.to_owned();
        self.ask(Work::Git(GitRequest::Repositories { path })).await
    }
}
