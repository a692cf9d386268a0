//! The directories that may be used, and how a path is found in them.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat, mkdirat, readlinkat};
use rustix::io::Errno;

use super::beneath::{self, Links};
use crate::request_error::RequestError;

/// No path that the system takes is longer.
const MAX_PATH_BYTES: usize = 4096;

/// The workspace and other directories whose files may be used. Nothing outside of them is ever opened.
pub(crate) struct Roots(Vec<Root>);

struct Root {
    /// As it was named, which is how people name what is in it.
    given: PathBuf,
    /// Without links.
    real: PathBuf,
}

/// Where a file is or will be.
pub(crate) struct Entry {
    /// The directory, which has been opened.
    pub(crate) directory: OwnedFd,
    /// The name in it, which is not that of a link.
    pub(crate) name: OsString,
}

impl Roots {
    /// The first is the workspace: relative paths begin there.
    pub(crate) fn new(roots: Vec<PathBuf>) -> Self {
        let with_real = |given: PathBuf| Root {
            real: fs::canonicalize(&given).unwrap_or_else(|_| given.clone()),
            given,
        };
        Self(roots.into_iter().map(with_real).collect())
    }

    /// The absolute form of a path that was asked for, whether it is beneath a root or not.
    pub(crate) fn absolute(&self, path: &str) -> Result<PathBuf, RequestError> {
        if path.len() > MAX_PATH_BYTES || path.contains('\0') {
            return Err(RequestError::Invalid {
                path: path.chars().take(80).collect(),
                reason: format!("a path has at most {MAX_PATH_BYTES} bytes, and no zero among them"),
            });
        }
        let workspace = self.0.first().map_or(Path::new("/"), |root| &root.given);
        Ok(workspace.join(path))
    }

    /// Opens what a path names.
    pub(crate) fn open(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, RequestError> {
        let (root, relative) = self.find(path)?;
        match beneath::open(root.as_fd(), &relative, flags, Links::Follow) {
            // A link may be absolute, or lead from one root to another.
            Err(Errno::XDEV) => {
                let (directory, relative) = self.find_real(path)?;
                beneath::open(directory.as_fd(), &relative, flags, Links::Refuse)
            }
            opened => opened,
        }
        .map_err(RequestError::at(&shown(path)))
    }

    /// Opens a directory, only to name what is in it.
    pub(crate) fn directory(&self, path: &Path) -> Result<OwnedFd, RequestError> {
        self.open(path, OFlags::PATH | OFlags::DIRECTORY)
    }

    /// Opens a directory to see what is in it.
    pub(crate) fn listable(&self, path: &Path) -> Result<OwnedFd, RequestError> {
        self.open(path, OFlags::RDONLY | OFlags::DIRECTORY)
    }

    /// Opens a file to be read. Never waits for the other end of a pipe.
    pub(crate) fn file(&self, path: &Path) -> Result<File, RequestError> {
        let opened = self.open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        let status = fstat(&opened).map_err(RequestError::at(&shown(path)))?;
        match FileType::from_raw_mode(status.st_mode) {
            FileType::RegularFile => Ok(opened.into()),
            FileType::Directory => Err(RequestError::IsDirectory { path: shown(path) }),
            _ => Err(RequestError::Special { path: shown(path) }),
        }
    }

    /// Opens a directory, and makes those that are missing on the way to it.
    pub(crate) fn make_directory(&self, path: &Path) -> Result<OwnedFd, RequestError> {
        match self.directory(path) {
            Err(RequestError::NotFound { .. }) => {}
            other => return other,
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(RequestError::NotFound { path: shown(path) });
        };
        let parent = self.make_directory(parent)?;
        match mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => self.directory(path),
            Err(errno) => Err(RequestError::at(&shown(path))(errno)),
        }
    }

    /// The place of a file that is to be made or replaced; missing directories are made. A link is followed to the
    /// file it names.
    pub(crate) fn entry(&self, path: &Path) -> Result<Entry, RequestError> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(RequestError::IsDirectory { path: shown(path) });
        };
        let directory = self.make_directory(parent)?;
        if readlinkat(&directory, name, Vec::new()).is_err() {
            return Ok(Entry {
                directory,
                name: name.to_owned(),
            });
        }
        let (root, relative) = self.find_real(path)?;
        let outside = |_| RequestError::Outside { path: shown(path) };
        let (Some(parent), Some(name)) = (relative.parent(), relative.file_name()) else {
            return Err(RequestError::IsDirectory { path: shown(path) });
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        Ok(Entry {
            directory: beneath::open(root.as_fd(), parent, flags, Links::Refuse).map_err(outside)?,
            name: name.to_owned(),
        })
    }

    /// Whether a real path is beneath a root.
    pub(crate) fn contain(&self, real: &Path) -> bool {
        self.0.iter().any(|root| real.starts_with(&root.real))
    }

    /// The root of a path, opened, and the path in it.
    fn find(&self, path: &Path) -> Result<(OwnedFd, PathBuf), RequestError> {
        let given = |root: &Root| path.strip_prefix(&root.given).ok().map(Path::to_owned);
        let real = |root: &Root| path.strip_prefix(&root.real).ok().map(Path::to_owned);
        self.choose(path, |root| given(root).or_else(|| real(root)))
    }

    /// The same for the file that a path leads to. Nothing is told of what is outside, not even whether it exists.
    fn find_real(&self, path: &Path) -> Result<(OwnedFd, PathBuf), RequestError> {
        let outside = |_| RequestError::Outside { path: shown(path) };
        let target = fs::canonicalize(path).map_err(outside)?;
        self.choose(path, |root| {
            target.strip_prefix(&root.real).ok().map(Path::to_owned)
        })
    }

    fn choose(
        &self,
        path: &Path,
        within: impl Fn(&Root) -> Option<PathBuf>,
    ) -> Result<(OwnedFd, PathBuf), RequestError> {
        let found = self.0.iter().filter_map(|root| Some((root, within(root)?)));
        // The innermost root, so that a link out of it is seen as one.
        let innermost = found.max_by_key(|(root, _)| root.real.as_os_str().len());
        let (root, relative) = innermost.ok_or_else(|| RequestError::Outside { path: shown(path) })?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(&root.real, flags, Mode::empty());
        Ok((opened.map_err(RequestError::at(&shown(&root.real)))?, relative))
    }
}

/// The path of something that was opened.
pub(crate) fn real_path(opened: &OwnedFd) -> Result<PathBuf, RequestError> {
    let link = through_fd(opened);
    fs::read_link(&link).map_err(RequestError::io(&shown(&link)))
}

/// A name for something that was opened, good in this process and in a child until it runs another program.
pub(crate) fn through_fd(opened: &OwnedFd) -> PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", opened.as_raw_fd()).into()
}

/// A path in a message. Names are not always text.
pub(crate) fn shown(path: impl AsRef<OsStr>) -> String {
    path.as_ref().to_string_lossy().into_owned()
}
