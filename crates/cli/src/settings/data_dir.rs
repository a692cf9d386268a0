//! The directory where Deft keeps conversations: the user's alone.

use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::process::geteuid;

const PRIVATE: u32 = 0o700;
const OTHERS_WRITE: u32 = 0o022;

/// Why the data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DataDirError {
    /// It could not be made.
    #[error("cannot create the data directory {}: {source}; create it yourself or set DEFT_DATA_DIR to another", path.display())]
    Create {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It could not be looked at.
    #[error("cannot look at the data directory {}: {source}; check the permissions of the directories above it", path.display())]
    Look {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something else has its name.
    #[error("the data directory {} is not a directory; move it away or set DEFT_DATA_DIR to another", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// It is somebody else's.
    #[error("the data directory {} belongs to user {owner}, not to you (user {me}); set DEFT_DATA_DIR to one of your own", path.display())]
    ForeignOwner {
        /// The directory.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Who asks.
        me: u32,
    },
    /// Somebody else could put a conversation there.
    #[error("other users can write to the data directory {}; run: chmod go-w {0}", path.display())]
    OthersCanWrite {
        /// The directory.
        path: PathBuf,
    },
    /// Nobody can write to it.
    #[error("the data directory {} lies on a read-only file system; name another with --data-dir or DEFT_DATA_DIR", path.display())]
    ReadOnly {
        /// The directory.
        path: PathBuf,
    },
    /// Its owner may not write either.
    #[error("the data directory {} cannot be written to: {source}; run: chmod u+rwx {0}, or set DEFT_DATA_DIR to another", path.display())]
    Unwritable {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Makes the directory, for the user alone, or sees to it that the one that is there can be trusted and used.
pub(crate) fn prepare_data_dir(path: &Path) -> Result<(), DataDirError> {
    match path.metadata() {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new()
                .recursive(true)
                .mode(PRIVATE)
                .create(path)
                .map_err(|source| match source.kind() {
                    io::ErrorKind::ReadOnlyFilesystem => DataDirError::ReadOnly {
                        path: path.to_owned(),
                    },
                    _ => DataDirError::Create {
                        path: path.to_owned(),
                        source,
                    },
                })?;
            // It may lie in a workspace: neither its owner's repository nor a checkpoint is to have it.
            let _ = fs::write(path.join(".gitignore"), "*\n");
        }
        Err(source) => {
            return Err(DataDirError::Look {
                path: path.to_owned(),
                source,
            });
        }
    }
    // Looked at again after it was made: somebody else may have been faster.
    let found = path.metadata().map_err(|source| DataDirError::Look {
        path: path.to_owned(),
        source,
    })?;
    judge(path, &found, geteuid().as_raw())?;
    access(path, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|error| unwritable(path, error.into()))
}

fn unwritable(path: &Path, source: io::Error) -> DataDirError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::ReadOnlyFilesystem => DataDirError::ReadOnly { path },
        _ => DataDirError::Unwritable { path, source },
    }
}

fn judge(path: &Path, found: &Metadata, me: u32) -> Result<(), DataDirError> {
    let path = path.to_owned();
    if !found.is_dir() {
        return Err(DataDirError::NotADirectory { path });
    }
    if found.uid() != me {
        return Err(DataDirError::ForeignOwner {
            path,
            owner: found.uid(),
            me,
        });
    }
    if found.mode() & OTHERS_WRITE != 0 {
        return Err(DataDirError::OthersCanWrite { path });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o777
    }

    #[test]
    fn a_missing_directory_is_made_for_the_user_alone() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/.deft");
        prepare_data_dir(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
    }

    #[test]
    fn a_directory_that_others_can_read_is_left_as_it_is() {
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), Permissions::from_mode(0o755)).unwrap();
        prepare_data_dir(root.path()).unwrap();
        assert_eq!(mode(root.path()), 0o755);
    }

    #[test]
    fn a_directory_that_others_can_write_to_is_refused() {
        let root = tempfile::tempdir().unwrap();
        for open in [0o722, 0o770, 0o777] {
            fs::set_permissions(root.path(), Permissions::from_mode(open)).unwrap();
            let error = prepare_data_dir(root.path()).unwrap_err();
            let path = root.path().display();
            assert_eq!(
                error.to_string(),
                format!("other users can write to the data directory {path}; run: chmod go-w {path}")
            );
        }
    }

    #[test]
    fn a_file_in_its_place_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = prepare_data_dir(file.path()).unwrap_err();
        assert!(matches!(error, DataDirError::NotADirectory { .. }), "{error}");
        let error = prepare_data_dir(&file.path().join("below")).unwrap_err();
        assert!(matches!(error, DataDirError::Look { .. }), "{error}");
    }

    #[test]
    fn a_directory_of_another_user_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let found = root.path().metadata().unwrap();
        let error = judge(root.path(), &found, found.uid() + 1).unwrap_err();
        assert!(matches!(error, DataDirError::ForeignOwner { .. }), "{error}");
    }

    #[test]
    fn nobody_is_told_to_change_permissions_on_a_read_only_file_system() {
        let error = unwritable(Path::new("/x"), rustix::io::Errno::ROFS.into());
        let said = error.to_string();
        assert!(
            said.contains("read-only") && said.contains("DEFT_DATA_DIR"),
            "{said}"
        );
        assert!(!said.contains("chmod"), "{said}");
        let error = unwritable(Path::new("/x"), rustix::io::Errno::ACCESS.into());
        assert!(error.to_string().contains("chmod u+rwx /x"), "{error}");
    }

    #[test]
    fn a_directory_without_write_permission_is_refused() {
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), Permissions::from_mode(0o500)).unwrap();
        let outcome = prepare_data_dir(root.path());
        if geteuid().is_root() {
            outcome.unwrap(); // permissions do not bind root
        } else {
            assert!(matches!(outcome, Err(DataDirError::Unwritable { .. })));
        }
    }
}
