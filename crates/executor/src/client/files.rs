//! Files of a workspace, as a client asks for them. Paths are absolute or relative to the workspace.

use super::Client;
use super::work::{Download, End, Upload};
use crate::files::{Entry, EntryPage, FileRequest, GatheredFiles, Page};
use crate::request_error::RequestError;
use crate::work::Work;

impl Client {
    /// What is at a path.
    pub async fn stat(&self, path: &str) -> Result<Entry, RequestError> {
        let path = path.to_owned();
        self.ask(Work::File(FileRequest::Stat { path })).await
    }

    /// A part of what is in a directory.
    pub async fn list(&self, path: &str, page: Page) -> Result<EntryPage, RequestError> {
        let path = path.to_owned();
        self.ask(Work::File(FileRequest::List { path, page })).await
    }

    /// What has a text in its name, in a directory and all directories in it.
    pub async fn search(&self, path: &str, name: &str, page: Page) -> Result<EntryPage, RequestError> {
        let (path, name) = (path.to_owned(), name.to_owned());
        self.ask(Work::File(FileRequest::Search { path, name, page }))
            .await
    }

    /// The texts of files that have one of `names`, wherever they are, and what lies below `folders`: files whose
    /// names end with one of `endings` are read, the others only named. The same of the top of the repository that the
    /// workspace is a part of.
    pub async fn gather(
        &self,
        names: &[&str],
        folders: &[&str],
        endings: &[&str],
    ) -> Result<GatheredFiles, RequestError> {
        let own = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
        let (names, folders, endings) = (own(names), own(folders), own(endings));
        self.ask(Work::File(FileRequest::Gather {
            names,
            folders,
            endings,
        }))
        .await
    }

    /// Makes a directory and those on the way to it.
    pub async fn make_directory(&self, path: &str) -> Result<(), RequestError> {
        let path = path.to_owned();
        self.ask(Work::File(FileRequest::MakeDirectory { path })).await
    }

    /// Reads a file from an offset, `limit` bytes or all.
    pub async fn read(&self, path: &str, offset: u64, limit: Option<u64>) -> Result<Download, RequestError> {
        let path = path.to_owned();
        self.download(FileRequest::Read { path, offset, limit }).await
    }

    /// Makes or replaces a file, and directories on the way to it. It is in place when the upload is finished.
    pub async fn write(&self, path: &str, mode: Option<u32>) -> Result<Upload, RequestError> {
        let path = path.to_owned();
        let pending = self.begin(Work::File(FileRequest::Write { path, mode })).await?;
        Ok(Upload(pending))
    }

    /// A directory as a `tar.gz`, without what `exclude` names.
    pub async fn archive(&self, path: &str, exclude: Vec<String>) -> Result<Download, RequestError> {
        let path = path.to_owned();
        self.download(FileRequest::Archive { path, exclude }).await
    }

    /// Unpacks a `tar.gz` into a directory: all of it, when the upload is finished, or nothing.
    pub async fn unpack(&self, path: &str, max_bytes: u64) -> Result<Upload, RequestError> {
        let path = path.to_owned();
        let request = FileRequest::Unpack { path, max_bytes };
        Ok(Upload(self.begin(Work::File(request)).await?))
    }

    async fn download(&self, request: FileRequest) -> Result<Download, RequestError> {
        Ok(Download(self.begin(Work::File(request)).await?, End::Open))
    }
}
