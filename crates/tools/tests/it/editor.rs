//! Files stay what they were, but for the edit.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use deft_tools::Call;
use deft_types::{Content, EditorCommand, FileEditorAction, FileEditorObservation, Observation, text_of};

use super::bench::{Bench, numbered_lines};

struct Files(Bench);

impl Files {
    fn new() -> Self {
        Self(Bench::new())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.workspace().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    async fn run(&self, action: FileEditorAction) -> FileEditorObservation {
        let editor = self.0.toolbox.get("file_editor").unwrap();
        match editor.run(Call::of(action)).await.unwrap() {
            Observation::FileEditor(seen) => *seen,
            other => panic!("{other:?}"),
        }
    }

    async fn view(&self, path: &Path) -> FileEditorObservation {
        self.run(action(EditorCommand::View, path)).await
    }

    async fn create(&self, path: &Path, text: &str) -> FileEditorObservation {
        self.run(FileEditorAction {
            file_text: Some(text.to_owned()),
            ..action(EditorCommand::Create, path)
        })
        .await
    }

    async fn replace(&self, path: &Path, old: &str, new: &str) -> FileEditorObservation {
        self.run(FileEditorAction {
            old_str: Some(old.to_owned()),
            new_str: Some(new.to_owned()),
            ..action(EditorCommand::StrReplace, path)
        })
        .await
    }

    async fn insert(&self, path: &Path, line: i64, new: &str) -> FileEditorObservation {
        self.run(FileEditorAction {
            insert_line: Some(line),
            new_str: Some(new.to_owned()),
            ..action(EditorCommand::Insert, path)
        })
        .await
    }

    async fn undo(&self, path: &Path) -> FileEditorObservation {
        self.run(action(EditorCommand::UndoEdit, path)).await
    }
}

fn action(command: EditorCommand, path: &Path) -> FileEditorAction {
    FileEditorAction {
        command,
        path: path.to_str().unwrap().to_owned(),
        ..FileEditorAction::default()
    }
}

fn text(seen: &FileEditorObservation) -> String {
    text_of(&seen.content)
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn new_files_have_the_usual_mode_and_their_directories() {
    let files = Files::new();
    let path = files.path("no/such/new.txt");
    assert!(!files.create(&path, "x").await.is_error);
    let usual = files.write("usual", b"");
    assert_eq!(mode(&path), mode(&usual));
    assert_eq!(read(&path), b"x");
}

#[tokio::test]
async fn mode_links_and_other_names_survive_an_edit() {
    let files = Files::new();
    let target = files.write("target", b"T1\n");
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o751)).unwrap();
    let link = files.path("link");
    symlink("target", &link).unwrap();
    assert!(!files.replace(&link, "T1", "T2").await.is_error);
    assert!(link.is_symlink());
    assert_eq!((read(&target), mode(&target)), (b"T2\n".to_vec(), 0o751));

    let twin = files.path("twin");
    std::fs::hard_link(&target, &twin).unwrap();
    assert!(!files.replace(&target, "T2", "T3").await.is_error);
    assert_eq!(read(&twin), b"T3\n");
    assert_eq!(std::fs::metadata(&twin).unwrap().nlink(), 2);
    assert_eq!(
        std::fs::read_dir(files.0.workspace()).unwrap().count(),
        3,
        "nothing is left beside"
    );
}

#[tokio::test]
async fn line_ends_and_encodings_survive_an_edit() {
    let files = Files::new();
    let check = async |bytes: &[u8], old: &str, new: &str, expected: &[u8]| {
        let path = files.write("file", bytes);
        let seen = files.replace(&path, old, new).await;
        assert!(!seen.is_error, "{seen:?}");
        assert_eq!(read(&path), expected, "{:?}", String::from_utf8_lossy(bytes));
    };
    check(
        b"one\r\ntwo\r\nthree\r\n",
        "two",
        "2\n2",
        b"one\r\n2\r\n2\r\nthree\r\n",
    )
    .await;
    check(b"one\r\ntwo\r\n", "one\ntwo", "1\r\n2", b"1\r\n2\r\n").await;
    check(b"one\rtwo\r", "two", "2\n2", b"one\r2\r2\r").await;
    check(b"\xEF\xBB\xBFhello\n", "hello", "bye", b"\xEF\xBB\xBFbye\n").await;
    check(b"caf\xE9 na\xEFve\n", "naïve", "naïf", b"caf\xE9 na\xEFf\n").await;
    check(b"caf\xE9\n", "caf", "🚀", "🚀é\n".as_bytes()).await;
    check(b"\xFF\xFEa\0\n\0", "a", "b", b"\xFF\xFEb\0\n\0").await;
}

#[tokio::test]
async fn insert_never_joins_lines() {
    let files = Files::new();
    let check = async |before: &str, line: i64, new: &str, after: &str| {
        let path = files.write("file", before.as_bytes());
        let seen = files.insert(&path, line, new).await;
        assert_eq!(read(&path), after.as_bytes(), "{seen:?}");
    };
    check("a\nb", 2, "c", "a\nb\nc\n").await;
    check("a\nb", 1, "c", "a\nc\nb").await;
    check("a\nb\n", 2, "c", "a\nb\nc\n").await;
    check("a", 0, "c", "c\na").await;
    check("", 0, "c", "c\n").await;
    check("a\r\nb", 2, "c", "a\r\nb\r\nc\r\n").await;
    let path = files.write("file", b"a\nb\n");
    for line in [-1, 3] {
        let seen = files.insert(&path, line, "x").await;
        assert!(seen.is_error && text(&seen).contains("from 0"), "{seen:?}");
    }
}

#[tokio::test]
async fn old_str_must_stand_in_one_place() {
    let files = Files::new();
    let path = files.write("file", b"line one\nline two\nother\n");
    let seen = files.replace(&path, "line", "x").await;
    assert!(
        seen.is_error && text(&seen).contains("2 times, in lines [1, 2]"),
        "{seen:?}"
    );
    assert!(text(&files.replace(&path, "absent", "x").await).contains("not found"));
    for old in ["", "\t\t"] {
        assert!(files.replace(&path, old, "x").await.is_error);
    }
    assert!(files.replace(&path, "other", "other").await.is_error);
    let deletion = FileEditorAction {
        old_str: Some("other\n".to_owned()),
        ..action(EditorCommand::StrReplace, &path)
    };
    assert!(!files.run(deletion).await.is_error);
    assert_eq!(read(&path), b"line one\nline two\n");
}

#[tokio::test]
async fn edits_are_undone_one_by_one_to_the_byte() {
    let files = Files::new();
    let path = files.path("file");
    files.create(&path, "v0\r\n").await;
    for version in 1..=12 {
        files
            .replace(&path, &format!("v{}", version - 1), &format!("v{version}"))
            .await;
    }
    let other_way = files.path("../workspace/file");
    for version in (2..12).rev() {
        let seen = files.undo(&other_way).await;
        assert_eq!(seen.new_content, Some(format!("v{version}\n")));
        assert_eq!(read(&path), format!("v{version}\r\n").as_bytes());
    }
    let seen = files.undo(&path).await;
    assert!(seen.is_error && text(&seen).contains("no edit"), "{seen:?}");
}

#[tokio::test]
async fn undo_after_create_removes_the_file() {
    let files = Files::new();
    let path = files.path("new");
    files.create(&path, "G").await;
    let seen = files.undo(&path).await;
    assert!(
        !seen.is_error && seen.old_content.as_deref() == Some("G") && seen.new_content.is_none(),
        "{seen:?}"
    );
    assert!(!path.exists());
    assert!(files.undo(&path).await.is_error);
}

#[tokio::test]
async fn a_long_file_is_clipped_with_true_line_numbers() {
    let files = Files::new();
    let long = numbered_lines("line number ", 5000);
    let path = files.write("long", long.as_bytes());
    let shown = text(&files.view(&path).await);
    assert!(shown.len() < 17_000, "{}", shown.len());
    for line in shown.lines().skip(1).filter(|line| !line.starts_with('[')) {
        let (number, content) = line.trim_start().split_once('\t').unwrap();
        assert_eq!(content, format!("line number {number}"));
    }
    let range = FileEditorAction {
        view_range: Some(vec![4999, 9000]),
        ..action(EditorCommand::View, &path)
    };
    let shown = text(&files.run(range).await);
    assert!(
        shown.contains("only 5000 lines")
            && shown.ends_with("  4999\tline number 4999\n  5000\tline number 5000\n")
    );
}

#[tokio::test]
async fn a_directory_is_listed_two_levels_deep() {
    let files = Files::new();
    std::fs::create_dir_all(files.path("d/e/f/g")).unwrap();
    for name in ["d/x.py", "d/e/y.py", "d/.hidden"] {
        files.write(name, b"");
    }
    let root = files.path("d");
    let shown = text(&files.view(&root).await);
    let root = root.display();
    let listed = format!("{root}/\n{root}/e/\n{root}/e/f/\n{root}/e/y.py\n{root}/x.py\n\n1 hidden");
    assert!(shown.contains(&listed), "{shown}");
}

#[tokio::test]
async fn images_are_known_by_their_bytes_and_limited() {
    let files = Files::new();
    let image = files.write("picture", b"\x89PNG\r\n\x1a\n");
    let seen = files.view(&image).await;
    let [_, Content::Image(shown)] = &seen.content[..] else {
        panic!("{seen:?}");
    };
    assert_eq!(shown.image_urls, ["data:image/png;base64,iVBORw0KGgo="]);
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    bytes.resize(6 * 1024 * 1024, 0);
    let seen = files.view(&files.write("large.png", &bytes)).await;
    assert!(seen.is_error && text(&seen).contains("at most 5 MB"), "{seen:?}");
    let seen = files.view(&files.write("fake.jpg", b"not an image")).await;
    assert!(text(&seen).contains("     1\tnot an image"), "{seen:?}");
}

#[tokio::test]
async fn what_is_no_text_file_is_left_alone() {
    let files = Files::new();
    let large = files.path("large");
    std::fs::File::create(&large)
        .unwrap()
        .set_len(10 * 1024 * 1024 + 1)
        .unwrap();
    let binary = files.write("binary", b"a\0b");
    for (path, word) in [
        (large.as_path(), "too large"),
        (&binary, "binary"),
        (Path::new("/dev/zero"), "neither"),
    ] {
        for seen in [files.view(path).await, files.replace(path, "a", "b").await] {
            assert!(seen.is_error && text(&seen).contains(word), "{seen:?}");
        }
    }
}

#[tokio::test]
async fn paths_must_be_absolute() {
    let files = Files::new();
    let path = files.write("here", b"");
    let seen = files.view(Path::new("here")).await;
    assert!(
        seen.is_error && text(&seen).contains(&format!("Do you mean {}?", path.display())),
        "{seen:?}"
    );
    assert!(!text(&files.view(Path::new("absent")).await).contains("mean"));
    assert!(text(&files.view(Path::new("~/x")).await).contains("not expanded"));
}

#[tokio::test]
async fn a_file_of_the_system_that_never_ends_does_not_keep_us() {
    let bench = Bench::new();
    for path in ["/proc/kmsg", "/proc/self/mem"] {
        let view = deft_types::FileEditorAction {
            path: path.to_owned(),
            ..deft_types::FileEditorAction::default()
        };
        let editor = bench.toolbox.get("file_editor").unwrap();
        let seen = tokio::time::timeout(std::time::Duration::from_secs(20), editor.run(Call::of(view))).await;
        assert!(seen.expect("it hangs").is_ok(), "{path}");
    }
}
