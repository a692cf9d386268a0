//! A restore that is killed.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use deft_tools::{CheckpointId, CheckpointLimits, Checkpoints, Overwrite};

use super::checkpoint::Place;

const ROOT: &str = "RESTORE_UNTIL_KILLED";
/// The system ends a process that writes more than it may into one file.
const LIMITED: &str = r#"ulimit -c 0; ulimit -f 1000; exec "$0" "$@""#;

/// Runs in a process of its own, which does not survive it.
#[test]
#[ignore = "a part of the test below"]
fn restores_until_killed() {
    let root = PathBuf::from(std::env::var_os(ROOT).unwrap());
    let checkpoints = Checkpoints::new(root.join("work"), root.join("kept"), CheckpointLimits::default());
    let _ = checkpoints.restore(CheckpointId(1), Overwrite::Refuse);
}

#[test]
fn a_restore_that_was_killed_is_completed_by_the_next_one() {
    let place = Place::new();
    let names = ["a/1", "a/2", "m", "z/1", "z/2"];
    for name in names {
        place.write(name, "one");
    }
    place.write("m", vec![b'1'; 5_000_000]);
    place.write("b/deep/file", "in a directory that comes back");
    place.write("n", "a file");
    let before = place.tree();
    let id = place.checkpoints.take("turn 1").unwrap();
    for name in names {
        place.write(name, "two");
    }
    fs::remove_dir_all(place.path("b")).unwrap();
    fs::remove_file(place.path("n")).unwrap();
    place.write("n/file", "now a directory");
    place.checkpoints.settle().unwrap();

    let ended = Command::new("sh")
        .args(["-c", LIMITED])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "it::checkpoint_crash::restores_until_killed",
            "--include-ignored",
        ])
        .env(ROOT, place.root.path())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(ended.signal().is_some(), "it was not killed: {ended}");
    let left = names.map(|name| place.read(name));
    assert_eq!(
        left,
        ["one", "one", "two", "two", "two"],
        "it was killed in the middle"
    );
    let names = fs::read_dir(place.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let unfinished = names.filter(|name| name.to_string_lossy().starts_with(".deft-restore-"));
    assert_eq!(
        unfinished.count(),
        1,
        "the file that it wrote when it was killed is left"
    );

    let again = Checkpoints::new(
        place.path(""),
        place.root.path().join("kept"),
        CheckpointLimits::default(),
    );
    let restored = again.restore(id, Overwrite::Refuse).unwrap();
    assert_eq!(restored.failed, []);
    assert!(place.tree() == before, "everything is as it was");
}
