//! What SQLite's errors mean to whoever called.

use rusqlite::{Error, ErrorCode, ffi};

use crate::error::StoreError;

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        let Error::SqliteFailure(failure, _) = &error else {
            return Self::Io(error.to_string());
        };
        match (failure.code, failure.extended_code) {
            // Without space the shared index beside the file cannot grow either.
            (ErrorCode::DiskFull, _) | (_, ffi::SQLITE_IOERR_SHMSIZE) => Self::Full,
            (ErrorCode::ReadOnly | ErrorCode::PermissionDenied, _) => Self::ReadOnly,
            (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => Self::Locked,
            (ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase, _) => Self::Damaged {
                detail: error.to_string(),
            },
            _ => Self::Io(error.to_string()),
        }
    }
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error.to_string())
    }
}
