//! Files that are not as they should be, and disks that are full.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use deft_store::{Options, Owner, SqliteStore, Store, StoreError};
use deft_types::Seq;
use tempfile::TempDir;

use super::sample::{Sample, create, message, open, said};

fn refusal(path: &Path) -> StoreError {
    SqliteStore::open(path, Options::default()).map(drop).unwrap_err()
}

/// The names in a directory.
fn names(directory: &Path) -> Vec<PathBuf> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_new_store_and_what_belongs_to_it_is_for_its_owner_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("some/where/deft.db");
    let store = open(&path);
    create(&store).await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let files = names(path.parent().unwrap());
    assert_eq!(files.len(), 3, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    assert_eq!(mode(path.parent().unwrap()), 0o700);
}

#[test]
fn many_may_open_a_new_store_at_the_same_moment() {
    for _ in 0..10 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deft.db");
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| open(&path));
            }
        });
    }
}

#[tokio::test]
async fn a_newer_store_is_refused_and_not_touched() {
    // Once closed properly, and once as a killed process leaves it, with everything still in the log.
    for is_closed in [true, false] {
        let sample = Sample::new();
        let copy = tempfile::tempdir().unwrap();
        create(&sample.store).await;
        let raw = sample.raw();
        raw.pragma_update(None, "user_version", 999).unwrap();
        if is_closed {
            raw.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
                .unwrap();
        }
        for file in names(sample.path().parent().unwrap()) {
            let name = file.file_name().unwrap();
            let is_main = file.extension().is_some_and(|extension| extension == "db");
            if is_main || (!is_closed && name.to_string_lossy().ends_with("-wal")) {
                fs::copy(&file, copy.path().join(name)).unwrap();
            }
        }
        let path = copy.path().join("deft.db");
        let before = (
            fs::read(&path).unwrap(),
            fs::read(copy.path().join("deft.db-wal")).ok(),
        );

        let refused = refusal(&path);
        assert!(
            matches!(refused, StoreError::Newer { found: 999, .. }),
            "{refused:?}"
        );
        assert!(refused.to_string().contains("newer program"), "{refused}");
        let after = (
            fs::read(&path).unwrap(),
            fs::read(copy.path().join("deft.db-wal")).ok(),
        );
        assert!(before == after, "changed, closed: {is_closed}");
        if is_closed {
            assert_eq!(names(copy.path()), [path]);
        }
    }
}

#[test]
fn what_is_not_a_store_is_refused_and_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("text.db");
    fs::write(&text, "Dear diary, ".repeat(1000)).unwrap();
    let foreign = directory.path().join("foreign.db");
    rusqlite::Connection::open(&foreign)
        .unwrap()
        .execute_batch("CREATE TABLE bookmarks (url)")
        .unwrap();
    let files = names(directory.path());

    for path in [text, foreign] {
        let before = fs::read(&path).unwrap();
        let refused = refusal(&path);
        assert!(matches!(refused, StoreError::NotAStore { .. }), "{refused:?}");
        assert!(refused.to_string().contains("move it away"), "{refused}");
        assert!(fs::read(&path).unwrap() == before);
    }
    assert_eq!(names(directory.path()), files);
}

#[test]
fn a_directory_in_the_place_of_the_store_is_named_as_such() {
    let directory = tempfile::tempdir().unwrap();
    let refused = refusal(directory.path());
    assert_eq!(refused, StoreError::IsDirectory(directory.path().to_owned()));
    assert!(
        refused.to_string().contains("move the directory away"),
        "{refused}"
    );
    assert_eq!(names(directory.path()), [] as [PathBuf; 0]);
}

#[test]
fn a_place_that_cannot_be_written_to_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let refused = refusal(&file.join("deft.db"));
    assert!(matches!(refused, StoreError::CannotOpen { .. }), "{refused:?}");
    assert!(refused.to_string().contains("may be written to"), "{refused}");

    let Some(mount) = Mount::tmpfs("ro") else { return };
    let refused = refusal(&mount.path().join("deft.db"));
    assert!(matches!(refused, StoreError::CannotOpen { .. }), "{refused:?}");
    assert!(refused.to_string().contains("Read-only"), "{refused}");
}

#[tokio::test]
async fn a_store_on_a_read_only_file_system_says_so_and_opens_when_it_is_writable_again() {
    let Some(mount) = Mount::tmpfs("rw") else { return };
    let path = mount.path().join("deft.db");
    let id = create(&open(&path)).await;
    mount.remount("ro");
    let refused = refusal(&path);
    assert_eq!(refused, StoreError::ReadOnly);
    mount.remount("rw");
    assert!(open(&path).conversation(id).await.unwrap().is_some());
}

#[tokio::test]
async fn a_full_disk_refuses_appends_and_takes_them_again_when_there_is_space() {
    let Some(mount) = Mount::tmpfs("size=4m") else {
        return;
    };
    let store = open(&mount.path().join("deft.db"));
    let id = create(&store).await;
    let lease = store.acquire(id, &Owner::this_process()).await.unwrap();
    store.append(&lease, vec![message("before")]).await.unwrap();
    let ballast = mount.path().join("ballast");
    fs::write(&ballast, vec![0; 2 << 20]).unwrap();

    let mut written = 1;
    let refused = loop {
        match store
            .append(&lease, vec![said(&written.to_string(), &"x".repeat(100_000))])
            .await
        {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(refused, StoreError::Full);
    assert_eq!(store.read(id, Seq::FIRST, 100).await.unwrap().len(), written);

    fs::remove_file(ballast).unwrap();
    let range = store.append(&lease, vec![message("after")]).await.unwrap();
    assert_eq!(range.start, Seq(written as u64));
}

/// A small file system of its own.
struct Mount(TempDir);

impl Mount {
    /// None, with a word about it, where we may not mount.
    fn tmpfs(options: &str) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        if mount(&["-t", "tmpfs", "-o", options, "tmpfs"], directory.path()) {
            return Some(Self(directory));
        }
        eprintln!("skipped: mounting a tmpfs is not permitted here");
        None
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn remount(&self, mode: &str) {
        assert!(mount(&["-o", &format!("remount,{mode}")], self.path()));
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}

fn mount(arguments: &[&str], directory: &Path) -> bool {
    Command::new("mount")
        .args(arguments)
        .arg(directory)
        .status()
        .is_ok_and(|status| status.success())
}

#[tokio::test]
async fn a_backup_holds_what_is_committed_and_is_for_its_owner_alone() {
    let sample = Sample::new();
    let lease = sample.conversation().await;
    sample.store.append(&lease, vec![message("1")]).await.unwrap();
    let copy = sample.path().with_file_name("copy.db");
    SqliteStore::back_up(&sample.path(), &copy).unwrap();
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    let log = open(&copy)
        .read(lease.conversation(), Seq::FIRST, 9)
        .await
        .unwrap();
    assert_eq!(log, [(Seq(0), message("1"))]);
    let again = SqliteStore::back_up(&sample.path(), &copy);
    assert!(
        matches!(again, Err(StoreError::CannotOpen { .. })),
        "nothing is overwritten"
    );
}

#[tokio::test]
async fn a_damaged_backup_is_refused_and_nothing_is_changed() {
    let sample = Sample::new();
    let lease = sample.conversation().await;
    for number in 0..200 {
        let event = said(&number.to_string(), &"x".repeat(2000));
        sample.store.append(&lease, vec![event]).await.unwrap();
    }
    let backup = sample.path().with_file_name("copy.db");
    SqliteStore::back_up(&sample.path(), &backup).unwrap();
    let mut bytes = fs::read(&backup).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 8192].fill(0xAA);
    fs::write(&backup, bytes).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let refused = SqliteStore::begin_restore(&backup, &elsewhere.path().join("deft.db")).map(drop);
    assert!(matches!(refused, Err(StoreError::Damaged { .. })), "{refused:?}");
    assert_eq!(names(elsewhere.path()), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn a_backup_takes_the_place_of_a_damaged_store_which_is_kept() {
    let sample = Sample::new();
    let lease = sample.conversation().await;
    sample.store.append(&lease, vec![message("1")]).await.unwrap();
    let backup = sample.path().with_file_name("copy.db");
    SqliteStore::back_up(&sample.path(), &backup).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let to = elsewhere.path().join("deft.db");
    fs::write(&to, "not a store any more").unwrap();
    fs::write(elsewhere.path().join("deft.db-wal"), "and its log").unwrap();
    let replaced = SqliteStore::begin_restore(&backup, &to)
        .unwrap()
        .finish()
        .unwrap();
    assert_eq!(fs::read(replaced.unwrap()).unwrap(), b"not a store any more");
    let restored = open(&to);
    let log = restored.read(lease.conversation(), Seq::FIRST, 9).await.unwrap();
    assert_eq!(log, [(Seq(0), message("1"))]);
    let writer = restored
        .acquire(lease.conversation(), &Owner::this_process())
        .await;
    assert!(writer.is_ok(), "nobody writes there");
}

#[tokio::test]
async fn a_store_in_use_is_not_replaced() {
    let sample = Sample::new();
    create(&sample.store).await;
    let backup = sample.path().with_file_name("copy.db");
    SqliteStore::back_up(&sample.path(), &backup).unwrap();
    let other = sample.another(); // as another process would have it open
    let refused = SqliteStore::begin_restore(&backup, &sample.path())
        .unwrap()
        .finish();
    assert_eq!(refused, Err(StoreError::Locked));
    drop(other);
    let left = names(sample.path().parent().unwrap());
    assert!(
        !left
            .iter()
            .any(|name| name.to_string_lossy().ends_with(".restoring")),
        "{left:?}"
    );
}
