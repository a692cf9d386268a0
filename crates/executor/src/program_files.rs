//! Credentials that a program reads from files, and folders of its own for what it keeps.
//!
//! They lie in a directory that is the executor's alone and goes with it. A file that is there already stays: the program may
//! have put a newer credential in its place.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use deft_types::Secret;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::program::Program;

/// A secret that a program wants as a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretFile {
    /// The secret.
    pub secret: String,
    /// The folder that the file is in.
    pub folder: String,
    /// The file's name there.
    pub name: String,
    /// The variable that tells the program where.
    pub variable: String,
    /// What that names.
    pub points_to: PointsTo,
}

/// What a variable names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PointsTo {
    /// The folder of the file.
    Folder,
    /// The file.
    File,
}

/// A folder that a program is to keep its own things in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnFolder {
    /// The variable that tells it so.
    pub variable: String,
    /// The folder's name.
    pub folder: String,
}

/// What a program finds.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    /// The variables that tell it where.
    pub(crate) variables: Vec<(String, PathBuf)>,
    /// The secrets that it has as files.
    pub(crate) secrets: Vec<String>,
}

/// See the module.
pub(crate) struct ProgramFiles {
    /// Where the directory is made.
    beneath: PathBuf,
    made: Mutex<Option<PathBuf>>,
}

impl ProgramFiles {
    pub(crate) fn new(beneath: PathBuf) -> Self {
        Self {
            beneath,
            made: Mutex::default(),
        }
    }

    /// Makes what a program wants, as far as the secrets are there.
    pub(crate) fn prepare(
        &self,
        program: &Program,
        secrets: &[(String, Secret<String>)],
    ) -> io::Result<Prepared> {
        let mut prepared = Prepared::default();
        if let Some(own) = &program.own_folder {
            let folder = self.folder(&own.folder)?;
            prepared.variables.push((own.variable.clone(), folder));
        }
        for file in &program.files {
            let Some((_, value)) = secrets.iter().find(|(name, _)| *name == file.secret) else {
                continue;
            };
            let folder = self.folder(&file.folder)?;
            let path = folder.join(bare(&file.name)?);
            write_new(&path, value.expose())?;
            let named = match file.points_to {
                PointsTo::Folder => folder,
                PointsTo::File => path,
            };
            prepared.variables.push((file.variable.clone(), named));
            prepared.secrets.push(file.secret.clone());
        }
        Ok(prepared)
    }

    fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.directory()?.join(bare(name)?);
        make(&folder)?;
        Ok(folder)
    }

    fn directory(&self) -> io::Result<PathBuf> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(directory) = made.as_ref() {
            return Ok(directory.clone());
        }
        // Nobody can have guessed the name.
        let directory = self
            .beneath
            .join(format!("deft-agent-{}", Uuid::new_v4().simple()));
        make(&directory)?;
        Ok(made.insert(directory).clone())
    }
}

impl Drop for ProgramFiles {
    fn drop(&mut self) {
        let made = self.made.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(directory) = made.take() {
            let _ = fs::remove_dir_all(directory); // it may be gone
        }
    }
}

/// A name that leads nowhere else.
fn bare(name: &str) -> io::Result<&str> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        let sentence = format!("{name:?} is no name of a file or folder");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, sentence));
    }
    Ok(name)
}

fn make(directory: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let opened = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match opened {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        opened => opened?.write_all(text.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(folder: &str) -> Program {
        Program {
            command: vec!["true".to_owned()],
            files: vec![SecretFile {
                secret: "LOGIN".to_owned(),
                folder: folder.to_owned(),
                name: "auth.json".to_owned(),
                variable: "AGENT_HOME".to_owned(),
                points_to: PointsTo::Folder,
            }],
            own_folder: None,
        }
    }

    #[test]
    fn a_credential_is_written_once_and_goes_with_the_executor() {
        let beneath = tempfile::tempdir().unwrap();
        let files = ProgramFiles::new(beneath.path().to_owned());
        let secrets = [("LOGIN".to_owned(), Secret::new("{}".to_owned()))];
        let prepared = files.prepare(&wanted("codex"), &secrets).unwrap();
        assert_eq!(prepared.secrets, ["LOGIN"]);
        let (variable, folder) = &prepared.variables[0];
        assert_eq!(variable, "AGENT_HOME");
        let file = folder.join("auth.json");
        assert_eq!(fs::read_to_string(&file).unwrap(), "{}");
        fs::write(&file, "newer").unwrap();
        files.prepare(&wanted("codex"), &secrets).unwrap();
        assert_eq!(
            fs::read_to_string(&file).unwrap(),
            "newer",
            "the program's own stays"
        );
        assert!(files.prepare(&wanted("codex"), &[]).unwrap().variables.is_empty());
        for elsewhere in ["..", "a/b", "", "/etc"] {
            assert!(
                files.prepare(&wanted(elsewhere), &secrets).is_err(),
                "{elsewhere}"
            );
        }
        drop(files);
        assert_eq!(fs::read_dir(beneath.path()).unwrap().count(), 0);
    }
}
