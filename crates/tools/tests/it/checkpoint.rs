//! Checkpoints of real directories.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use deft_tools::{
    Change, CheckpointError, CheckpointId, CheckpointLimits, Checkpoints, Effect, NotKept, Overwrite,
};
use tempfile::TempDir;

/// A workspace and the place of its checkpoints.
pub(super) struct Place {
    pub(super) root: TempDir,
    pub(super) checkpoints: Checkpoints,
}

impl Place {
    pub(super) fn new() -> Self {
        Self::with(CheckpointLimits::default())
    }

    pub(super) fn with(limits: CheckpointLimits) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("work")).unwrap();
        let checkpoints = Checkpoints::new(root.path().join("work"), root.path().join("kept"), limits);
        Self { root, checkpoints }
    }

    /// As after a restart: nothing is remembered but what is on the disk.
    fn reopened(self) -> Self {
        let work = self.root.path().join("work");
        let kept = self.root.path().join("kept");
        Self {
            checkpoints: Checkpoints::new(work, kept, CheckpointLimits::default()),
            root: self.root,
        }
    }

    pub(super) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.path().join("work").join(name)
    }

    pub(super) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| format!("{error}"))
    }

    pub(super) fn tree(&self) -> BTreeMap<Vec<u8>, String> {
        let mut tree = BTreeMap::new();
        look(&self.path(""), &self.path(""), &mut tree);
        tree
    }

    pub(super) fn restore(&self, id: CheckpointId) -> Vec<Change> {
        let restored = self.checkpoints.restore(id, Overwrite::Refuse).unwrap();
        assert_eq!(restored.failed, []);
        restored.changes
    }

    fn kept_bytes(&self) -> u64 {
        let database = rusqlite::Connection::open(self.contents()).unwrap();
        let sum = "SELECT coalesce(sum(length(bytes)), 0) FROM contents";
        let mut bytes: u64 = database
            .query_row(sum, (), |row| row.get(0))
            .map(i64::cast_unsigned)
            .unwrap();
        for shard in fs::read_dir(self.root.path().join("kept/objects"))
            .into_iter()
            .flatten()
        {
            for object in fs::read_dir(shard.unwrap().path()).unwrap() {
                bytes += object.unwrap().metadata().unwrap().len();
            }
        }
        bytes
    }

    /// The database with all but the largest contents.
    fn contents(&self) -> PathBuf {
        self.root.path().join("kept/contents.sqlite")
    }
}

/// Everything below a directory that can be told by looking: kinds, modes, contents, targets.
fn look(root: &Path, directory: &Path, tree: &mut BTreeMap<Vec<u8>, String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let data = fs::symlink_metadata(&path).unwrap();
        let mode = data.permissions().mode() & 0o7777;
        let what = if data.is_dir() {
            look(root, &path, tree);
            format!("directory {mode:o}")
        } else if data.is_symlink() {
            format!("link to {}", fs::read_link(&path).unwrap().display())
        } else if data.is_file() {
            format!("file {mode:o} {:?}", fs::read(&path).unwrap())
        } else {
            "special".to_owned()
        };
        let name = path.strip_prefix(root).unwrap().as_os_str().to_owned();
        tree.insert(name.into_vec(), what);
    }
}

fn effects(changes: &[Change]) -> Vec<(&str, Effect)> {
    changes
        .iter()
        .map(|change| (change.path.as_str(), change.effect))
        .collect()
}

#[test]
fn a_restore_brings_back_contents_modes_links_empty_directories_and_what_was_not_there() {
    let place = Place::new();
    place.write("src/main.rs", "fn main() {}");
    place.write("run.sh", "#!/bin/sh");
    place.write("gone/deep/file", "was here");
    fs::set_permissions(place.path("run.sh"), Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(place.path("empty")).unwrap();
    symlink("src/main.rs", place.path("link")).unwrap();
    symlink("nowhere", place.path("dangling")).unwrap();
    place.write("becomes_directory", "a file");
    place.write("becomes_file/x", "a file in a directory");
    let before = place.tree();
    let id = place.checkpoints.take("first").unwrap();

    place.write("src/main.rs", "fn main() { panic!() }");
    place.write("src/new.rs", "new");
    place.write("new/deep/file", "new");
    fs::set_permissions(place.path("run.sh"), Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(place.path("src"), Permissions::from_mode(0o700)).unwrap();
    fs::remove_dir_all(place.path("gone")).unwrap();
    fs::remove_dir(place.path("empty")).unwrap();
    fs::remove_file(place.path("link")).unwrap();
    fs::remove_file(place.path("dangling")).unwrap();
    symlink("src", place.path("link")).unwrap();
    fs::remove_file(place.path("becomes_directory")).unwrap();
    place.write("becomes_directory/x", "now a directory");
    fs::remove_dir_all(place.path("becomes_file")).unwrap();
    place.write("becomes_file", "now a file");
    let changed = place.tree();
    place.checkpoints.settle().unwrap();

    let preview = place.checkpoints.preview(id).unwrap();
    assert_eq!(place.tree(), changed, "a look changes nothing");
    let told = effects(&preview);
    for expected in [
        ("src/main.rs", Effect::Modify),
        ("src/new.rs", Effect::Delete),
        ("new", Effect::Delete),
        ("gone/deep/file", Effect::Create),
        ("empty", Effect::Create),
        ("link", Effect::Modify),
        ("run.sh", Effect::Modify),
    ] {
        assert!(told.contains(&expected), "{expected:?} is not in {told:?}");
    }
    let main = preview
        .iter()
        .find(|change| change.path == "src/main.rs")
        .unwrap();
    assert_eq!((main.now, main.then), (Some(22), Some(12)));

    let restored = place.checkpoints.restore(id, Overwrite::Refuse).unwrap();
    assert_eq!(restored.failed, []);
    assert_eq!(restored.changes, preview);
    assert_eq!(place.tree(), before);

    place.restore(restored.undo);
    assert_eq!(place.tree(), changed, "a restore can be undone");
    assert_eq!(place.checkpoints.preview(restored.undo).unwrap(), []);
}

#[test]
fn edits_of_somebody_else_are_not_overwritten_unless_that_is_allowed() {
    let place = Place::new();
    for name in ["agents", "both", "persons"] {
        place.write(name, "one");
    }
    let id = place.checkpoints.take("turn 1").unwrap();
    place.write("agents", "by the agent");
    place.write("both", "by the agent");
    place.checkpoints.settle().unwrap();
    place.write("both", "by a person");
    place.write("new", "by a person");
    let now = place.tree();

    let place = place.reopened();
    let refused = place.checkpoints.restore(id, Overwrite::Refuse).unwrap_err();
    assert!(
        matches!(&refused, CheckpointError::Edited { paths } if paths == &["both", "new"]),
        "{refused}"
    );
    assert_eq!(place.tree(), now);
    assert_eq!(place.checkpoints.list().unwrap().len(), 1, "nothing was restored");

    let restored = place.checkpoints.restore(id, Overwrite::Allow).unwrap();
    let edited: Vec<_> = restored
        .changes
        .iter()
        .map(|change| (change.path.as_str(), change.edited_since))
        .collect();
    assert_eq!(edited, [("agents", false), ("both", true), ("new", true)]);
    assert_eq!(place.read("both"), "one");
    assert!(!place.path("new").exists());
    place.restore(restored.undo);
    assert_eq!(place.read("both"), "by a person");
}

#[test]
fn an_empty_directory_that_somebody_else_made_is_no_obstacle_and_stays() {
    let place = Place::new();
    let id = place.checkpoints.take("a turn").unwrap();
    fs::create_dir(place.path("of the agent")).unwrap();
    place.checkpoints.settle().unwrap();
    fs::create_dir(place.path(".vscode")).unwrap(); // as a sandbox makes it, which works here beside this one
    let changes = place.checkpoints.preview(id).unwrap();
    assert_eq!(effects(&changes), [("of the agent", Effect::Delete)]);
    place.restore(id);
    assert!(place.path(".vscode").is_dir());
    assert!(!place.path("of the agent").exists());
}

#[test]
fn an_edit_that_makes_a_file_what_it_was_is_no_obstacle() {
    let place = Place::new();
    place.write("file", "one");
    let id = place.checkpoints.take("turn 1").unwrap();
    place.write("file", "two");
    place.checkpoints.settle().unwrap();
    place.write("file", "one");
    assert_eq!(place.restore(id), []);
}

#[test]
fn settings_that_git_must_not_see_come_back() {
    let place = Place::new();
    place.write(".gitignore", ".env*\n/cache\n");
    place.write(".env", "KEY=mine");
    place.write("cache/.env", "not a setting");
    let id = place.checkpoints.take("turn 1").unwrap();
    fs::remove_file(place.path(".env")).unwrap();
    place.checkpoints.settle().unwrap();
    place.checkpoints.restore(id, Overwrite::Refuse).unwrap();
    assert_eq!(place.read(".env"), "KEY=mine");
}

#[test]
fn ignored_files_and_repositories_are_left_alone_whatever_the_rules_were_in_between() {
    let place = Place::new();
    place.write(".gitignore", "target/\n*.log\n!keep.log\n");
    place.write("sub/.ignore", "secret\n");
    place.write(".git/config", "mine");
    place.write("target/out", "built");
    place.write("a.log", "log");
    place.write("keep.log", "kept");
    place.write("sub/secret", "secret");
    place.write("late", "kept");
    let id = place.checkpoints.take("turn 1").unwrap();

    place.write(".gitignore", "late\n");
    place.write(".git/config", "still mine");
    place.write("target/out", "built again");
    place.write("a.log", "more log");
    place.write("keep.log", "changed");
    place.write("sub/secret", "changed");
    place.write("late", "changed");
    place.checkpoints.settle().unwrap();
    let refused = place.checkpoints.restore(id, Overwrite::Refuse).unwrap_err();
    assert!(
        matches!(&refused, CheckpointError::Edited { paths } if paths == &["late"]),
        "nobody knows who changed what had come to be ignored: {refused}"
    );
    place.checkpoints.restore(id, Overwrite::Allow).unwrap();

    assert_eq!(place.read(".gitignore"), "target/\n*.log\n!keep.log\n");
    assert_eq!(place.read("keep.log"), "kept");
    assert_eq!(place.read("late"), "kept");
    assert_eq!(place.read(".git/config"), "still mine");
    assert_eq!(
        place.read("target/out"),
        "built again",
        "it was ignored when the checkpoint was taken"
    );
    assert_eq!(place.read("a.log"), "more log");
    assert_eq!(place.read("sub/secret"), "changed");
}

#[test]
fn the_rules_of_the_repository_around_the_workspace_hold_too() {
    let root = tempfile::tempdir().unwrap();
    let work = root.path().join("repo/part");
    fs::create_dir_all(root.path().join("repo/.git/info")).unwrap();
    fs::create_dir_all(&work).unwrap();
    fs::write(root.path().join("repo/.gitignore"), "*.o\n/part/made\n").unwrap();
    fs::write(root.path().join("repo/.git/info/exclude"), "mine\n").unwrap();
    let write = |text: &str| {
        for name in ["x.o", "made", "mine", "source"] {
            fs::write(work.join(name), text).unwrap();
        }
    };
    write("one");
    let checkpoints = Checkpoints::new(
        work.clone(),
        root.path().join("kept"),
        CheckpointLimits::default(),
    );
    let id = checkpoints.take("turn 1").unwrap();
    write("two");
    assert_eq!(
        effects(&checkpoints.preview(id).unwrap()),
        [("source", Effect::Modify)]
    );
}

#[test]
fn odd_names_links_in_circles_and_special_files_do_no_harm() {
    let place = Place::new();
    let odd = place.path(OsStr::from_bytes(b"caf\xe9\n \"x\""));
    fs::write(&odd, "odd").unwrap();
    symlink(".", place.path("circle")).unwrap();
    symlink("/", place.path("everything")).unwrap();
    let _socket = UnixListener::bind(place.path("socket")).unwrap();
    fs::create_dir_all(place.path(".git/info")).unwrap();
    for pipe in ["pipe", ".gitignore", ".git/info/exclude"] {
        let made = Command::new("mkfifo").arg(place.path(pipe)).status().unwrap();
        assert!(made.success());
    }
    let before = place.tree();
    let id = place.checkpoints.take("turn 1").unwrap();
    fs::remove_file(&odd).unwrap();
    fs::remove_file(place.path("circle")).unwrap();
    place.checkpoints.settle().unwrap();
    place.restore(id);
    assert_eq!(place.tree(), before);
}

#[test]
fn what_is_too_large_is_named_and_left_as_it_is() {
    let place = Place::with(CheckpointLimits {
        max_file_bytes: 100,
        ..CheckpointLimits::default()
    });
    place.write("big", vec![b'x'; 101]);
    place.write("grows", "small");
    let id = place.checkpoints.take("turn 1").unwrap();
    place.write("big", vec![b'y'; 102]);
    place.write("grows", vec![b'y'; 103]);
    place.write("new", vec![b'y'; 104]);
    place.checkpoints.settle().unwrap();

    let left = Effect::Leave(NotKept::TooLarge);
    let preview = place.checkpoints.preview(id).unwrap();
    assert_eq!(
        effects(&preview),
        [("big", left), ("grows", Effect::Modify), ("new", left)]
    );
    let refused = place.checkpoints.restore(id, Overwrite::Refuse).unwrap_err();
    assert!(
        matches!(&refused, CheckpointError::Edited { paths } if paths == &["grows"]),
        "there is no copy of what it is now: {refused}"
    );
    place.checkpoints.restore(id, Overwrite::Allow).unwrap();
    assert_eq!(place.read("grows"), "small");
    assert_eq!(place.read("big"), "y".repeat(102));
    assert_eq!(place.read("new"), "y".repeat(104));
}

#[test]
fn a_workspace_with_too_many_files_is_refused() {
    let place = Place::with(CheckpointLimits {
        max_entries: 10,
        ..CheckpointLimits::default()
    });
    for number in 0..11 {
        place.write(&format!("{number}"), "x");
    }
    let refused = place.checkpoints.take("turn 1").unwrap_err();
    assert!(refused.to_string().contains("more than 10 files"), "{refused}");
}

#[test]
fn the_oldest_checkpoints_make_room_and_the_newest_ones_still_work() {
    let limits = CheckpointLimits {
        max_file_bytes: 10_000,
        max_total_bytes: 100_000,
        ..CheckpointLimits::default()
    };
    let place = Place::with(limits);
    for turn in 0..40 {
        place.write("always", "the same");
        place.write("file", format!("{turn:5}").repeat(1000));
        place.checkpoints.take(&format!("turn {turn}")).unwrap();
        assert!(
            place.kept_bytes() <= 100_000,
            "turn {turn}: {}",
            place.kept_bytes()
        );
        // Its pages are not full, but room that was made is given back.
        assert!(fs::metadata(place.contents()).unwrap().len() <= 200_000);
    }
    let list = place.checkpoints.list().unwrap();
    assert!((5..40).contains(&list.len()), "{} are left", list.len());
    assert_eq!(list.last().unwrap().id, CheckpointId(40));
    let oldest = &list[0];
    place.restore(oldest.id);
    let turn: usize = oldest.label.trim_start_matches("turn ").parse().unwrap();
    assert_eq!(place.read("file"), format!("{turn:5}").repeat(1000));
    let refused = place.checkpoints.restore(CheckpointId(1), Overwrite::Refuse);
    assert!(matches!(refused, Err(CheckpointError::Unknown { .. })));
}

#[test]
fn there_are_never_more_checkpoints_than_the_limit() {
    let place = Place::with(CheckpointLimits {
        max_checkpoints: 8,
        ..CheckpointLimits::default()
    });
    for turn in 1..=30 {
        place.write("file", turn.to_string());
        let id = place.checkpoints.take("a turn").unwrap();
        assert_eq!(id, CheckpointId(turn), "numbers are not used twice");
        assert!(place.checkpoints.list().unwrap().len() <= 8);
    }
}

#[test]
fn a_directory_that_became_a_link_does_not_lead_out_of_the_workspace() {
    let place = Place::new();
    place.write("sub/file", "inside");
    let id = place.checkpoints.take("turn 1").unwrap();
    let outside = place.root.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "outside").unwrap();
    fs::remove_dir_all(place.path("sub")).unwrap();
    symlink(&outside, place.path("sub")).unwrap();
    place.checkpoints.settle().unwrap();
    place.restore(id);
    assert_eq!(place.read("sub/file"), "inside");
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "outside");
}

#[test]
fn files_that_change_while_they_are_read_do_not_stop_a_checkpoint() {
    let place = Place::new();
    for number in 0..50 {
        place.write(&format!("busy/{number}"), "start");
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0_usize;
            while !stop.load(Ordering::Relaxed) {
                let name = format!("busy/{}", round % 50);
                let _ = fs::remove_file(place.path(&name));
                place.write(&name, "x".repeat(round % 5000));
                round += 1;
            }
        });
        for turn in 0..20 {
            place.checkpoints.take(&format!("turn {turn}")).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    let before = place.tree();
    let id = place.checkpoints.take("at rest").unwrap();
    fs::remove_dir_all(place.path("busy")).unwrap();
    place.checkpoints.settle().unwrap();
    place.restore(id);
    assert_eq!(
        place.tree(),
        before,
        "what was seen in the middle of it is not mistaken for the end"
    );
}

#[test]
fn a_change_that_keeps_size_and_time_is_noticed() {
    let place = Place::new();
    place.write("file", "one");
    let time = fs::metadata(place.path("file")).unwrap().modified().unwrap();
    let id = place.checkpoints.take("turn 1").unwrap();
    place.write("file", "two");
    let file = fs::File::options().write(true).open(place.path("file")).unwrap();
    file.set_modified(time).unwrap();
    place.checkpoints.settle().unwrap();
    place.restore(id);
    assert_eq!(place.read("file"), "one");
}

#[test]
fn a_store_inside_the_workspace_is_not_a_part_of_it() {
    let root = tempfile::tempdir().unwrap();
    let kept = root.path().join("deep/kept");
    fs::create_dir_all(root.path().join("deep")).unwrap();
    fs::write(root.path().join("file"), "one").unwrap();
    let checkpoints = Checkpoints::new(root.path().to_owned(), kept, CheckpointLimits::default());
    let id = checkpoints.take("turn 1").unwrap();
    fs::write(root.path().join("file"), "two").unwrap();
    checkpoints.settle().unwrap();
    assert_eq!(
        effects(&checkpoints.preview(id).unwrap()),
        [("file", Effect::Modify)]
    );
}

#[test]
fn damage_is_noticed_before_anything_is_changed() {
    let place = Place::new();
    place.write("file", "one");
    let id = place.checkpoints.take("turn 1").unwrap();
    place.write("file", "two");
    place.checkpoints.settle().unwrap();
    fs::write(place.contents(), "not what it was").unwrap();
    for _ in 0..2 {
        let refused = place.checkpoints.restore(id, Overwrite::Allow).unwrap_err();
        assert!(matches!(refused, CheckpointError::Damaged { .. }), "{refused}");
        assert_eq!(place.read("file"), "two");
    }
    let place = place.reopened();
    let id = place
        .checkpoints
        .take("kept anew, also what has not changed")
        .unwrap();
    place.write("file", "three");
    place.checkpoints.settle().unwrap();
    place.restore(id);
    assert_eq!(place.read("file"), "two");

    fs::write(place.root.path().join("kept/index.json"), "{").unwrap();
    let place = place.reopened();
    assert_eq!(place.checkpoints.list().unwrap(), []);
    place.checkpoints.take("a new beginning").unwrap();
}

#[test]
fn what_an_earlier_version_kept_as_files_can_be_restored() {
    let place = Place::new();
    place.write("file", "one");
    let id = place.checkpoints.take("turn 1").unwrap();
    place.write("file", "two");
    place.checkpoints.settle().unwrap();
    let database = rusqlite::Connection::open(place.contents()).unwrap();
    let mut rows = database
        .prepare("DELETE FROM contents RETURNING lower(hex(hash)), bytes")
        .unwrap();
    let rows = rows.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    for row in rows {
        let (hash, bytes): (String, Vec<u8>) = row.unwrap();
        let shard = place.root.path().join("kept/objects").join(&hash[..2]);
        fs::create_dir_all(&shard).unwrap();
        fs::write(shard.join(&hash[2..]), bytes).unwrap();
    }
    let place = place.reopened();
    place.restore(id);
    assert_eq!(place.read("file"), "one");
}

#[test]
fn what_is_different_now_is_told_content_by_content() {
    let place = Place::new();
    place.write("changed", "old\n");
    place.write("gone", "was here\n");
    place.write("same", "same\n");
    let before = place.checkpoints.take("").unwrap();
    place.write("changed", "new\n");
    place.write("deep/added", [0, 159, 146]);
    fs::remove_file(place.path("gone")).unwrap();
    let comparison = place.checkpoints.compare(before).unwrap();
    let told: Vec<_> = comparison
        .paths
        .iter()
        .map(|path| (path.path.as_str(), path.before.as_deref(), path.after.as_deref()))
        .collect();
    let no_text = "(3 bytes that are no text or too long)\n";
    assert_eq!(
        told,
        [
            ("changed", Some("old\n"), Some("new\n")),
            ("deep/added", None, Some(no_text)),
            ("gone", Some("was here\n"), None),
        ]
    );
    assert_eq!(comparison.more, 0);
    (0..60).for_each(|n| place.write(&format!("many/{n}"), "x"));
    let comparison = place.checkpoints.compare(before).unwrap();
    assert_eq!((comparison.paths.len(), comparison.more), (50, 13));
}
