//! A file as a patch: git itself writes it, so that it can apply it whatever the file is and holds.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::Git;
use super::repository::{Repository, has_git, names};
use crate::files::{Roots, real_path, shown};
use crate::request_error::RequestError;
use crate::work::blocking;

/// How git tells what differs, whatever the configuration of the repository says.
const FORM: [&str; 9] = [
    "--binary",
    "--full-index",
    "--ignore-submodules=dirty",
    "--no-color",
    "--no-ext-diff",
    "--no-renames",
    "--no-textconv",
    "--submodule=short",
    "--unified=3",
];

impl Git {
    /// What has become of a file in a directory. The names in the patch begin at the directory.
    pub(super) async fn patch(
        &self,
        directory: &Path,
        file: &Path,
        revision: Option<&str>,
    ) -> Result<Vec<u8>, RequestError> {
        let (roots, start, named) = (self.roots.clone(), directory.to_owned(), file.to_owned());
        let found = blocking(move || {
            let directory = real_path(&roots.directory(&start)?)?;
            let holder = holder(&roots, &directory, &named);
            Ok((directory, holder))
        });
        let (directory, holder) = found.await?;
        let mut repository = self.repository(&holder).await?;
        let outside = |_| RequestError::Outside { path: shown(file) };
        let file = directory.join(file);
        let in_repository = file.strip_prefix(&repository.top).map_err(outside)?.to_owned();
        let base = repository.base_or(revision).await?;
        // The directory is in the repository, or holds it.
        let below = directory.strip_prefix(&repository.top).unwrap_or(Path::new(""));
        let above = repository
            .top
            .strip_prefix(&directory)
            .unwrap_or(Path::new(""))
            .to_owned();
        if repository.finds(&in_repository).await? {
            repository.pretend(&base, &in_repository).await?;
        }
        let prefix = |side: &str| {
            let mut prefix = OsString::from(side);
            prefix.push(above.join(""));
            prefix
        };
        let arguments = ["-C".into(), repository.top.clone().into(), "diff".into()]
            .into_iter()
            .chain(FORM.map(OsString::from))
            .chain([prefix("--src-prefix=a/"), prefix("--dst-prefix=b/")])
            .chain([relative_to(below), base.into(), "--".into()])
            .chain(only(&in_repository));
        repository.ask(&arguments.collect::<Vec<_>>()).await
    }
}

impl Repository<'_> {
    /// Whether a file is there that git does not know of.
    async fn finds(&self, file: &Path) -> Result<bool, RequestError> {
        let asked = [
            "--literal-pathspecs",
            "ls-files",
            "--others",
            "--exclude-standard",
            "-z",
            "--",
        ];
        let begin = [OsStr::new("-C"), self.top.as_os_str()];
        let asked = begin
            .into_iter()
            .chain(asked.map(OsStr::new))
            .chain([file.as_os_str()]);
        let found = self.ask(&asked.collect::<Vec<_>>()).await?;
        Ok(names(&found).any(|name| name == file.as_os_str()))
    }

    /// Has git take a file for one that it knows, in an index of its own that has nothing else.
    async fn pretend(&mut self, base: &str, file: &Path) -> Result<(), RequestError> {
        self.index = Some(blocking(|| Ok(tempfile::tempdir()?)).await?);
        // What the entry says is never looked at: without a size it counts as changed.
        let mut entry = OsString::from(format!("100644,{base},"));
        entry.push(file);
        let begin = ["update-index", "--add", "--cacheinfo"].map(OsStr::new);
        let asked = begin.into_iter().chain([entry.as_os_str()]);
        self.ask(&asked.collect::<Vec<_>>()).await.map(drop)
    }
}

/// The directory whose repository has a file, as the list of changes has it: one directly in a directory, or that
/// itself. No link is followed, for it may stand where the file's directory was.
fn holder(roots: &Roots, directory: &Path, file: &Path) -> PathBuf {
    let mut parts = file.iter();
    if let (Some(first), Some(_)) = (parts.next(), parts.next()) {
        let inner = directory.join(first);
        if inner.symlink_metadata().is_ok_and(|found| found.is_dir()) && has_git(roots, &inner) {
            return inner;
        }
    }
    directory.to_owned()
}

/// Means a file alone: not what was in it when it was a directory, which has patches of its own.
fn only(file: &Path) -> [OsString; 2] {
    let mut itself = OsString::from(":(top,literal)");
    itself.push(file);
    let mut within = b":(top,exclude,glob)".to_vec();
    for byte in file.as_os_str().as_bytes() {
        if b"*?[\\".contains(byte) {
            within.push(b'\\');
        }
        within.push(*byte);
    }
    within.extend(b"/**");
    [itself, OsString::from_vec(within)]
}

/// Has names begin at a directory of the repository.
fn relative_to(directory: &Path) -> OsString {
    if directory.as_os_str().is_empty() {
        return "--no-relative".into();
    }
    let mut argument = OsString::from("--relative=");
    argument.push(directory.join(""));
    argument
}
