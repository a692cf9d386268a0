//! Files that pages send: into the workspace, under names of our choosing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::connection::Outbox;

/// The folder of the workspace for them.
const FOLDER: &str = "downloads";
/// A larger file is not downloaded.
const MAX_FILE_BYTES: f64 = 1024.0 * 1024.0 * 1024.0;
/// Files on their way at the same time; further ones are cancelled.
const MAX_DOWNLOADS: usize = 10;
/// How long a file's name may be.
const MAX_NAME_CHARS: usize = 100;
/// How many files of one name there may be.
const MAX_NAMESAKES: u32 = 1_000;

/// Files on their way.
#[derive(Default)]
pub(super) struct Downloads {
    list: Vec<Download>,
    /// How many have begun, ever.
    pub(super) begun: u64,
}

/// A file on its way, or there.
#[derive(Clone, Debug)]
pub(super) struct Download {
    /// Its name where the browser puts it.
    guid: String,
    /// The name it gets.
    name: String,
    pub(super) outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Running,
    Done,
    Failed,
}

impl Downloads {
    pub(super) fn begin(&mut self, guid: &str, suggested: &str) {
        self.begun += 1;
        self.list.push(Download {
            guid: guid.to_owned(),
            name: clean(suggested),
            outcome: Outcome::Running,
        });
    }

    pub(super) fn progress(&mut self, params: &Value, outbox: &Outbox) {
        let guid = params["guid"].as_str().unwrap_or_default();
        let number = |name: &str| params[name].as_f64().unwrap_or_default();
        let bytes = number("receivedBytes").max(number("totalBytes"));
        let too_many = self.list.iter().position(|download| download.guid == guid) >= Some(MAX_DOWNLOADS);
        let Some(download) = self.list.iter_mut().find(|download| download.guid == guid) else {
            return;
        };
        match params["state"].as_str() {
            Some("completed") => download.outcome = Outcome::Done,
            Some("canceled") => download.outcome = Outcome::Failed,
            _ if too_many || bytes > MAX_FILE_BYTES => {
                outbox.post(None, "Browser.cancelDownload", &json!({"guid": guid}));
            }
            _ => {}
        }
    }

    pub(super) fn any_running(&self) -> bool {
        self.list
            .iter()
            .any(|download| download.outcome == Outcome::Running)
    }

    /// Those that are over.
    pub(super) fn take_ended(&mut self) -> Vec<Download> {
        self.list
            .extract_if(.., |download| download.outcome != Outcome::Running)
            .collect()
    }
}

impl Download {
    /// Puts the file into the workspace and says what became of it.
    pub(super) fn deliver(&self, arrivals: &Path, workspace: &Path) -> String {
        let arrived = arrivals.join(&self.guid);
        if self.outcome != Outcome::Done {
            let _ = fs::remove_file(&arrived); // there may be none
            return format!("The download of {} was cancelled or failed.", self.name);
        }
        match place(&arrived, &workspace.join(FOLDER), &self.name) {
            Ok((path, bytes)) => format!("Downloaded {} ({bytes} bytes).", path.display()),
            Err(error) => format!("The download of {} could not be kept: {error}.", self.name),
        }
    }
}

/// Moves a file into a folder without touching what is there.
fn place(arrived: &Path, folder: &Path, name: &str) -> io::Result<(PathBuf, u64)> {
    fs::create_dir_all(folder)?;
    let (stem, ending) = match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => (stem, format!(".{ending}")),
        Some(_) | None => (name, String::new()),
    };
    for number in 0..MAX_NAMESAKES {
        let path = match number {
            0 => folder.join(name),
            _ => folder.join(format!("{stem}-{number}{ending}")),
        };
        let mut file = match fs::File::create_new(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        };
        let bytes = io::copy(&mut fs::File::open(arrived)?, &mut file)?;
        fs::remove_file(arrived)?;
        return Ok((path, bytes));
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// A name that is one on every system, hides nothing, and leads nowhere else.
fn clean(suggested: &str) -> String {
    let allowed = |c: char| {
        if c.is_alphanumeric() || "._-".contains(c) {
            c
        } else {
            '_'
        }
    };
    let name: String = suggested.chars().map(allowed).collect();
    let name: String = name
        .trim_start_matches(['.', '-'])
        .chars()
        .take(MAX_NAME_CHARS)
        .collect();
    if name.is_empty() {
        "download".to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_and_hide_nothing() {
        for (suggested, expected) in [
            ("report.pdf", "report.pdf"),
            ("../../etc/passwd", "_.._etc_passwd"),
            (".bashrc", "bashrc"),
            ("--help", "help"),
            ("a b\u{202e}fdp.exe", "a_b_fdp.exe"),
            ("Ünï.txt", "Ünï.txt"),
            ("\n", "_"),
            ("..", "download"),
        ] {
            assert_eq!(clean(suggested), expected, "{suggested}");
        }
    }

    #[test]
    fn a_file_of_the_same_name_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("downloads");
        for expected in ["a.tar.txt", "a.tar-1.txt", "a.tar-2.txt"] {
            let arrived = directory.path().join("guid");
            fs::write(&arrived, expected).unwrap();
            let (path, bytes) = place(&arrived, &folder, "a.tar.txt").unwrap();
            assert_eq!(path, folder.join(expected));
            assert_eq!(bytes, expected.len() as u64);
            assert!(!arrived.exists());
        }
        assert_eq!(fs::read_to_string(folder.join("a.tar.txt")).unwrap(), "a.tar.txt");
    }
}
