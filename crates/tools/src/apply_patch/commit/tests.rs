use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::file::save::save;

/// Everything below a directory: what files hold with their mode, and where links lead.
fn tree(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let data = path.symlink_metadata().unwrap();
            let what = if data.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display())
            } else if data.is_dir() {
                open.push(path.clone());
                String::new()
            } else {
                format!(
                    "{:o} {}",
                    data.permissions().mode(),
                    fs::read_to_string(&path).unwrap()
                )
            };
            all.insert(path, what);
        }
    }
    all
}

fn steps(root: &Path, last: &str) -> Vec<Step> {
    let write = |name: &str, before: Option<&str>| Step::Write {
        path: root.join(name),
        before: before.map(|text| text.as_bytes().to_vec()),
        bytes: b"new".to_vec(),
        like: None,
    };
    vec![
        write("old", Some("before")),
        write("a/b/new", None),
        Step::Write {
            path: root.join("moved"),
            before: None,
            bytes: b"moved".to_vec(),
            like: Some(root.join("script")),
        },
        Step::Remove {
            path: root.join("script"),
        },
        Step::Remove {
            path: root.join("link"),
        },
        write(last, None),
    ]
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().to_owned();
    fs::write(root.join("old"), "before").unwrap();
    fs::write(root.join("script"), "#!").unwrap();
    fs::set_permissions(root.join("script"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("old", root.join("link")).unwrap();
    (directory, root)
}

#[test]
fn a_write_that_fails_takes_everything_back() {
    fn full_disk(path: &Path, bytes: &[u8]) -> io::Result<()> {
        if path.ends_with("last") {
            return Err(io::ErrorKind::StorageFull.into());
        }
        save(path, bytes)
    }
    let (_directory, root) = place();
    let before = tree(&root);
    let problem = commit(steps(&root, "deep/last"), full_disk).unwrap_err();
    assert!(matches!(problem, Problem::Undone(_)), "{problem}");
    assert_eq!(tree(&root), before);
}

#[test]
fn nothing_but_the_result_stays() {
    let (_directory, root) = place();
    commit(steps(&root, "last"), save).unwrap();
    let after = tree(&root);
    let names: Vec<_> = after
        .keys()
        .map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap())
        .collect();
    assert_eq!(names, ["a", "a/b", "a/b/new", "last", "moved", "old"]);
    assert_eq!(after[&root.join("moved")], "100755 moved");
}
