//! Files through the executor: what is asked for, and what is refused.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use deft_executor::{Client, EntryKind, Page, RequestError};

use super::*;

pub(crate) async fn read(client: &Client, path: &str) -> Result<Vec<u8>, RequestError> {
    let mut download = client.read(path, 0, None).await?;
    let mut all = Vec::new();
    while let Some(bytes) = download.next().await? {
        all.extend_from_slice(&bytes);
    }
    Ok(all)
}

pub(crate) async fn write(client: &Client, path: &str, content: &str) -> Result<u64, RequestError> {
    let mut upload = client.write(path, None).await?;
    upload.send(Bytes::copy_from_slice(content.as_bytes())).await?;
    upload.finish().await
}

/// Everything in a directory, hidden or not, with what is in files.
fn snapshot(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_file_is_written_with_its_directories_and_read_in_parts() {
    let place = Place::new();
    let client = place.connect().await;
    assert_eq!(write(&client, "a/b/c.txt", "0123456789").await, Ok(10));
    assert_eq!(place.file("a/b/c.txt"), "0123456789");
    let absolute = place.root.path().join("a/b/c.txt").display().to_string();
    assert_eq!(read(&client, &absolute).await.unwrap(), b"0123456789");
    let mut part = client.read("a/b/c.txt", 3, Some(4)).await.unwrap();
    assert_eq!(part.next().await.unwrap().unwrap(), "3456");
    assert_eq!(part.next().await, Ok(None));
    assert_eq!(part.next().await, Ok(None));
    assert_eq!(snapshot(&place.root.path().join("a/b")), ["c.txt"]);

    write(&client, "empty", "").await.unwrap();
    assert_eq!(read(&client, "empty").await.unwrap(), b"");
    client.make_directory("x/y").await.unwrap();
    client.make_directory("x/y").await.unwrap();
    assert!(place.root.path().join("x/y").is_dir());
}

#[tokio::test]
async fn a_replaced_file_keeps_its_permissions_and_a_link_to_it_stays_a_link() {
    let place = Place::new();
    let client = place.connect().await;
    let script = place.root.path().join("run.sh");
    fs::write(&script, "old").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o750)).unwrap();
    symlink("run.sh", place.root.path().join("link")).unwrap();
    write(&client, "link", "new").await.unwrap();
    assert_eq!(place.file("run.sh"), "new");
    assert_eq!(fs::metadata(&script).unwrap().mode() & 0o7777, 0o750);
    assert!(place.root.path().join("link").is_symlink());

    let upload = client.write("tool", Some(0o4755)).await.unwrap();
    upload.finish().await.unwrap();
    let mode = fs::metadata(place.root.path().join("tool")).unwrap().mode();
    assert_eq!(mode & 0o7777, 0o755, "nobody can make a set-user-id file");
}

#[tokio::test]
async fn directories_are_listed_in_pages_and_searched() {
    let place = Place::new();
    let client = place.connect().await;
    for name in [
        "B.txt",
        "a.txt",
        "sub/deep/Target.rs",
        "with space",
        "new\nline",
        ".hidden",
    ] {
        write(&client, &format!("d/{name}"), "xyz").await.unwrap();
    }
    let page = |from: Option<&str>, limit| Page {
        from: from.map(str::to_owned),
        limit,
        ..Page::default()
    };
    let first = client.list("d", page(None, 3)).await.unwrap();
    let names: Vec<&str> = first.entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["a.txt", "B.txt", "new\nline"]);
    assert_eq!(
        (first.entries[0].kind, first.entries[0].size),
        (EntryKind::File, 3)
    );
    assert_eq!(first.next.as_deref(), Some("sub"));
    let rest = client.list("d", page(first.next.as_deref(), 3)).await.unwrap();
    let names: Vec<&str> = rest.entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!((names, rest.next), (vec!["sub", "with space"], None));

    let directories = Page {
        only: Some(EntryKind::Directory),
        ..Page::default()
    };
    let found = client.list("d", directories).await.unwrap();
    assert_eq!(found.entries.len(), 1);
    let found = client.search("d", "target", Page::default()).await.unwrap();
    assert_eq!(found.entries[0].name, "sub/deep/Target.rs");
    let found = client.search("d", "hidden", Page::default()).await.unwrap();
    assert!(found.entries.is_empty());

    let stat = client.stat("d/sub").await.unwrap();
    assert_eq!(stat.kind, EntryKind::Directory);
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    assert!(now.as_millis().abs_diff(stat.modified_ms.try_into().unwrap()) < 600_000);
}

#[tokio::test]
async fn nothing_outside_of_the_roots_is_read_or_written_whatever_the_path_says() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    let place = Place::new();
    let client = place.connect().await;
    let root = place.root.path();
    symlink(outside.path(), root.join("out")).unwrap();
    symlink(outside.path().join("secret"), root.join("file-out")).unwrap();
    symlink(outside.path().join("none"), root.join("dangling-out")).unwrap();
    symlink("/proc/self/environ", root.join("environ")).unwrap();
    let up = "../".repeat(20);
    let (root_text, outside_text) = (root.display(), outside.path().display());
    let attacks = [
        format!("{up}etc/passwd"),
        "/etc/passwd".to_owned(),
        format!("{root_text}/../x"),
        format!("{root_text}-other/x"),
        format!("/proc/self/root{outside_text}/secret"),
        "out/secret".to_owned(),
        "out/new/file".to_owned(),
        "file-out".to_owned(),
        "dangling-out".to_owned(),
        "environ".to_owned(),
        "nul\0byte".to_owned(),
        "x/".repeat(3000),
        format!("{outside_text}/secret"),
    ];
    for path in attacks {
        let read = read(&client, &path).await.unwrap_err();
        let written = write(&client, &path, "overwritten").await.unwrap_err();
        for error in [&read, &written] {
            assert!(
                matches!(error, RequestError::Outside { .. } | RequestError::Invalid { .. }),
                "{path:?}: {error}"
            );
        }
        client.stat(&path).await.unwrap_err();
        client.make_directory(&path).await.unwrap_err();
    }
    client.list("out", Page::default()).await.unwrap_err();
    assert_eq!(snapshot(outside.path()), ["secret"]);
    assert_eq!(
        fs::read_to_string(outside.path().join("secret")).unwrap(),
        "secret"
    );
    // What looks odd but is inside is a name like any other.
    write(&client, "..%2f..%2fetc", "fine").await.unwrap();
    assert_eq!(place.file("..%2f..%2fetc"), "fine");
}

#[tokio::test]
async fn links_between_roots_and_absolute_links_inside_are_followed() {
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("file"), "other root").unwrap();
    let mut place = Place::new();
    let workspace = place.root.path().display().to_string();
    place.executor = Executor::with_roots(Toolbox::host(), workspace, vec![other.path().to_owned()]);
    let client = place.connect().await;
    symlink(other.path().join("file"), place.root.path().join("link")).unwrap();
    fs::write(place.root.path().join("target"), "inside").unwrap();
    symlink(
        place.root.path().join("target"),
        place.root.path().join("absolute"),
    )
    .unwrap();
    assert_eq!(read(&client, "link").await.unwrap(), b"other root");
    assert_eq!(read(&client, "absolute").await.unwrap(), b"inside");
    write(&client, "link", "changed").await.unwrap();
    assert_eq!(fs::read_to_string(other.path().join("file")).unwrap(), "changed");
}

#[tokio::test]
async fn pipes_and_sockets_and_devices_are_refused_without_waiting_for_them() {
    let place = Place::new();
    let client = place.connect().await;
    let pipe = place.root.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let _socket = UnixListener::bind(place.root.path().join("socket")).unwrap();
    for name in ["pipe", "socket"] {
        let expected = RequestError::Special {
            path: place.root.path().join(name).display().to_string(),
        };
        assert_eq!(read(&client, name).await.unwrap_err(), expected);
        assert_eq!(write(&client, name, "x").await.unwrap_err(), expected);
        assert_eq!(client.stat(name).await.unwrap().kind, EntryKind::Special);
    }
    assert!(matches!(
        read(&client, ".").await,
        Err(RequestError::IsDirectory { .. })
    ));
    assert!(matches!(
        write(&client, "pipe/x", "").await,
        Err(RequestError::NotDirectory { .. })
    ));
    assert!(matches!(
        read(&client, "none").await,
        Err(RequestError::NotFound { .. })
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_is_swapped_all_the_time_never_leads_out() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("file"), "outside").unwrap();
    let place = Place::new();
    let client = place.connect().await;
    let root = place.root.path().to_owned();
    fs::create_dir(root.join("inside")).unwrap();
    fs::write(root.join("inside/file"), "inside").unwrap();
    symlink("inside", root.join("swapped")).unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let swapping = std::thread::spawn({
        let (done, target) = (done.clone(), outside.path().to_owned());
        move || {
            while !done.load(Ordering::Relaxed) {
                for target in [Path::new("inside"), &target] {
                    let _ = fs::remove_file(root.join("new"));
                    symlink(target, root.join("new")).unwrap();
                    fs::rename(root.join("new"), root.join("swapped")).unwrap();
                }
            }
        }
    });
    let mut came_through = 0;
    for _ in 0..1500 {
        if let Ok(content) = read(&client, "swapped/file").await {
            assert_eq!(content, b"inside");
            came_through += 1;
        }
        let _ = write(&client, "swapped/written", "x").await;
    }
    done.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    assert!(came_through > 0);
    assert_eq!(snapshot(outside.path()), ["file"]);
}

/// The most memory this process has had, in KiB.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn two_hundred_megabytes_go_both_ways_in_bounded_memory() {
    const CHUNKS: u64 = 200 * 8; // of 128 KiB
    let place = Place::new();
    let client = place.connect().await;
    let before = peak_memory();
    let chunk = Bytes::from(vec![7; 128 * 1024]);
    let mut upload = client.write("large", None).await.unwrap();
    for _ in 0..CHUNKS {
        upload.send(chunk.clone()).await.unwrap();
    }
    assert_eq!(upload.finish().await, Ok(CHUNKS * 128 * 1024));
    let mut download = client.read("large", 0, None).await.unwrap();
    let mut read = 0;
    while let Some(bytes) = download.next().await.unwrap() {
        assert!(bytes.iter().step_by(4096).all(|byte| *byte == 7));
        read += bytes.len() as u64;
    }
    assert_eq!(read, CHUNKS * 128 * 1024);
    let grown = peak_memory() - before;
    assert!(grown < 32 * 1024, "memory grew by {grown} KiB");
}

#[tokio::test]
async fn a_download_that_nobody_reads_holds_up_nobody_else() {
    let place = Place::new();
    let client = place.connect().await;
    let mut large = File::create(place.root.path().join("large")).unwrap();
    large.write_all(&vec![1; 8 << 20]).unwrap();
    let mut stalled = Vec::new();
    for _ in 0..10 {
        stalled.push(client.read("large", 0, None).await.unwrap());
    }
    let answered = (0..50).map(|number| {
        let client = client.clone();
        async move {
            let name = format!("file-{number}");
            write(&client, &name, &name).await.unwrap();
            assert_eq!(read(&client, &name).await.unwrap(), name.as_bytes());
        }
    });
    futures::future::join_all(answered).await;
    let mut first = stalled.swap_remove(0);
    drop(stalled);
    let mut length = 0;
    while let Some(bytes) = first.next().await.unwrap() {
        length += bytes.len();
    }
    assert_eq!(length, 8 << 20);
}

#[tokio::test]
async fn an_upload_that_is_cut_or_given_up_leaves_the_old_file_and_nothing_else() {
    let place = Place::new();
    let directory = place.root.path().join("d");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("file"), "old").unwrap();
    for cut_connection in [true, false] {
        let client = place.connect().await;
        let mut upload = client.write("d/file", None).await.unwrap();
        for _ in 0..20 {
            upload.send(Bytes::from(vec![b'x'; 100_000])).await.unwrap();
        }
        assert_eq!(
            snapshot(&directory).len(),
            2,
            "the unfinished file is there under another name"
        );
        if cut_connection {
            drop(client);
            drop(upload);
        } else {
            drop(upload);
            client.stat("d").await.unwrap();
        }
        while snapshot(&directory).len() > 1 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        assert_eq!(place.file("d/file"), "old");
    }
}

#[tokio::test]
async fn who_waits_for_an_answer_when_the_connection_breaks_is_told() {
    let (near, far) = tokio::io::duplex(1 << 16);
    let place = Place::new();
    let executor = place.executor.clone();
    let served = tokio::spawn(async move { executor.serve(far).await });
    let client = Client::connect(near).await.unwrap();
    let upload = client.write("file", None).await.unwrap();
    served.abort();
    assert_eq!(upload.finish().await, Err(RequestError::Lost));
    assert_eq!(client.stat("file").await, Err(RequestError::Lost));
}

#[tokio::test]
async fn texts_for_agents_are_gathered_from_all_over_the_workspace() {
    let place = Place::new();
    let client = place.connect().await;
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret.md"), "not yours").unwrap();
    for (path, text) in [
        (".gitignore", "vendor\n.agents\n"),
        ("AGENTS.md", "top"),
        ("endless/AGENTS.md", "beside rules without end"),
        ("web/agents.MD", "nested"),
        ("vendor/AGENTS.md", "ignored"),
        ("web/other.md", "not asked for"),
        (".agents/skills/a/SKILL.md", "a skill"),
        (".agents/skills/a/scripts/run.sh", "echo"),
    ] {
        write(&client, path, text).await.unwrap();
    }
    fs::create_dir(place.root.path().join(".git")).unwrap();
    fs::write(place.root.path().join(".agents/skills/b.md"), [0xff, 0xfe]).unwrap();
    symlink(
        outside.path().join("secret.md"),
        place.root.path().join(".agents/skills/c.md"),
    )
    .unwrap();
    symlink("AGENTS.md", place.root.path().join("CLAUDE.md")).unwrap();
    symlink("/dev/zero", place.root.path().join("endless/.gitignore")).unwrap();

    let found = client
        .gather(
            &["agents.md", "claude.md"],
            &[".agents/skills", "missing"],
            &[".md"],
        )
        .await
        .unwrap();
    let root = place.root.path().display().to_string();
    assert_eq!(found.repository, None);
    let found: Vec<_> = found
        .files
        .iter()
        .map(|file| (file.path.strip_prefix(&root).unwrap(), file.text.as_deref()))
        .collect();
    assert_eq!(
        found,
        [
            ("/AGENTS.md", Some("top")),
            ("/CLAUDE.md", Some("top")),
            ("/web/agents.MD", Some("nested")),
            ("/.agents/skills/a/SKILL.md", Some("a skill")),
            ("/.agents/skills/a/scripts/run.sh", None),
            ("/.agents/skills/b.md", None),
            ("/.agents/skills/c.md", None),
        ]
    );
}

#[tokio::test]
async fn what_stands_at_the_top_of_the_repository_is_gathered_for_a_part_of_it() {
    let place = Place::working_in("part");
    let top = fs::canonicalize(place.root.path()).unwrap();
    for folder in [".git", ".agents/skills/a", "other"] {
        fs::create_dir_all(top.join(folder)).unwrap();
    }
    fs::write(top.join("AGENTS.md"), "for all").unwrap();
    fs::write(top.join("other/AGENTS.md"), "for others").unwrap();
    fs::write(top.join("part/AGENTS.md"), "for this part").unwrap();
    fs::write(top.join(".agents/skills/a/SKILL.md"), "a skill").unwrap();
    symlink("/etc/hostname", top.join(".agents/skills/b.md")).unwrap();
    let client = place.connect().await;
    let found = client
        .gather(&["agents.md"], &[".agents/skills"], &[".md"])
        .await
        .unwrap();
    assert_eq!(found.repository, Some(top.display().to_string()));
    let texts: Vec<_> = found.files.iter().map(|file| file.text.as_deref()).collect();
    assert_eq!(
        texts,
        [Some("for this part"), Some("for all"), Some("a skill"), None]
    );
}
