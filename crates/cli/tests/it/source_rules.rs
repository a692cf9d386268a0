//! What the source must not have, because an invariant of `ARCHITECTURE.md` says so.

use std::fs;
use std::path::{Path, PathBuf};

/// Words for channels without a limit.
const UNBOUNDED: &[&str] = &[
    "unbounded",
    "Unbounded",
    "sync::mpsc::channel",
    "mpsc::channel()",
    "sync::mpsc::{channel",
];

/// Words for ways to files and programs.
const WAYS_TO_FILES: &[&str] = &[
    "std::fs",
    "tokio::fs",
    "rustix::fs",
    "File::",
    "std::process",
    "tokio::process",
];

/// Files of the server's own and of the system, and directories that must be there before an executor can be.
const OWN_FILES: &[&str] = &[
    "server/src/config/layers.rs",
    "server/src/new_directory.rs",
    "server/src/routes/metrics.rs",
    "server/src/users.rs",
    "server/src/vault/keyring.rs",
    "server/src/vault/place.rs",
    "server/src/vault/private_file.rs",
    "server/src/vault/rotation.rs",
];

#[test]
fn invariant_8_no_channel_is_without_a_limit() {
    let files = sources(&crates());
    assert!(files.len() > 200, "only {} files were found", files.len());
    let found = places_of(&files, UNBOUNDED);
    assert!(
        found.is_empty(),
        "give these a limit with a name:\n{}",
        found.join("\n")
    );
}

#[test]
fn invariant_6_the_engine_and_the_server_have_no_way_to_the_files_of_a_workspace() {
    for name in ["engine", "server"] {
        let mut files = sources(&crates().join(name));
        assert!(files.len() > 20, "only {} files were found", files.len());
        files.retain(|file| !OWN_FILES.iter().any(|own| file.ends_with(own)));
        let found = places_of(&files, WAYS_TO_FILES);
        assert!(
            found.is_empty(),
            "ask the executor instead:\n{}",
            found.join("\n")
        );
    }
}

#[test]
fn git_is_run_on_a_workspace_by_its_executor_alone() {
    /// The executor, which takes care, and what fetches packages, which is in no workspace.
    const OF_OURS: &[&str] = &["executor/src/git/program.rs", "cli/src/packages/fetch.rs"];
    let mut files = sources(&crates());
    files.retain(|file| !OF_OURS.iter().any(|own| file.ends_with(own)));
    let found = places_of(&files, &["Command::new(\"git\")"]);
    assert!(
        found.is_empty(),
        "ask the executor instead:\n{}",
        found.join("\n")
    );
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Where code that is no test has one of these words.
fn places_of(files: &[PathBuf], words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(file).unwrap();
        let code = text.split("#[cfg(test)]\nmod").next().unwrap_or_default();
        for (number, line) in (1..).zip(code.lines()) {
            let is_comment = line.trim_start().starts_with("//");
            if !is_comment && words.iter().any(|word| line.contains(word)) {
                found.push(format!("{}:{number}: {}", file.display(), line.trim()));
            }
        }
    }
    found
}

/// All source files beneath a folder that are no tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_test = path
                .file_stem()
                .is_some_and(|name| name == "tests" || name == "build");
            if path.is_dir() && !is_test {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test {
                files.push(path);
            }
        }
    }
    files
}
