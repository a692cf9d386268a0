//! Directories as archives, and archives that nobody should trust.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};

use bytes::Bytes;
use deft_executor::{Client, RequestError};
use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

use super::*;

async fn download(client: &Client, path: &str, exclude: &[&str]) -> Result<Vec<u8>, RequestError> {
    let exclude = exclude.iter().map(|name| (*name).to_owned()).collect();
    let mut download = client.archive(path, exclude).await?;
    let mut all = Vec::new();
    while let Some(bytes) = download.next().await? {
        all.extend_from_slice(&bytes);
    }
    Ok(all)
}

async fn unpack(client: &Client, path: &str, archive: &[u8]) -> Result<u64, RequestError> {
    let mut upload = client.unpack(path, 1 << 20).await?;
    upload.send(Bytes::copy_from_slice(archive)).await?;
    upload.finish().await
}

type Tar = Builder<GzEncoder<Vec<u8>>>;

fn archive(fill: impl FnOnce(&mut Tar)) -> Vec<u8> {
    let mut tar = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    fill(&mut tar);
    tar.into_inner().unwrap().finish().unwrap()
}

/// An entry whose names are written as they are, which the tar crate itself refuses to do.
fn raw(tar: &mut Tar, kind: EntryType, path: &str, link: &str, content: &[u8]) {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
    header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(0o4777);
    header.set_size(content.len() as u64);
    header.set_cksum();
    tar.append(&header, content).unwrap();
}

#[tokio::test]
async fn a_directory_comes_back_as_it_was_without_links_that_lead_out() {
    let place = Place::new();
    let client = place.connect().await;
    let source = place.root.path().join("source");
    fs::create_dir_all(source.join("a/empty")).unwrap();
    fs::create_dir_all(source.join("node_modules/x")).unwrap();
    fs::write(source.join("a/file with \n newline"), "content").unwrap();
    fs::write(source.join("a/cache.pyc"), "left out").unwrap();
    let long = "long".repeat(60);
    fs::write(source.join(&long), vec![9; 300_000]).unwrap();
    symlink("a", source.join("link")).unwrap();
    symlink("/etc/passwd", source.join("absolute")).unwrap();
    symlink("../..", source.join("a/out")).unwrap();
    std::process::Command::new("mkfifo")
        .arg(source.join("pipe"))
        .status()
        .unwrap();

    let packed = download(&client, "source", &["node_modules", "*.pyc"])
        .await
        .unwrap();
    assert_eq!(unpack(&client, "copy", &packed).await, Ok(300_007));
    let copy = place.root.path().join("copy");
    assert_eq!(place.file("copy/a/file with \n newline"), "content");
    assert_eq!(fs::read(copy.join(&long)).unwrap(), vec![9; 300_000]);
    assert_eq!(fs::read_link(copy.join("link")).unwrap(), Path::new("a"));
    assert!(copy.join("a/empty").is_dir());
    for left_out in ["node_modules", "a/cache.pyc", "absolute", "a/out", "pipe"] {
        assert!(fs::symlink_metadata(copy.join(left_out)).is_err(), "{left_out}");
    }

    // Into a directory that has files already.
    fs::write(copy.join("own"), "stays").unwrap();
    fs::write(copy.join("a/file with \n newline"), "replaced").unwrap();
    unpack(&client, "copy", &packed).await.unwrap();
    assert_eq!(place.file("copy/own"), "stays");
    assert_eq!(place.file("copy/a/file with \n newline"), "content");
    assert!(download(&client, "source/a/cache.pyc", &[]).await.is_err());
    assert!(matches!(
        download(&client, "/etc", &[]).await,
        Err(RequestError::Outside { .. })
    ));
}

#[tokio::test]
async fn a_harmful_archive_is_refused_and_nothing_of_it_unpacked() {
    let outside = tempfile::tempdir().unwrap();
    let place = Place::new();
    let client = place.connect().await;
    let target = place.root.path().join("target");
    fs::create_dir(&target).unwrap();
    symlink(outside.path(), target.join("linked")).unwrap();
    let out = outside.path().display().to_string();
    let file = EntryType::Regular;
    let bad: Vec<(&str, Vec<u8>)> = vec![
        ("goes up", archive(|tar| raw(tar, file, "../evil", "", b"x"))),
        (
            "goes up inside",
            archive(|tar| raw(tar, file, "a/../../evil", "", b"x")),
        ),
        ("absolute", archive(|tar| raw(tar, file, "/tmp/evil", "", b"x"))),
        (
            "link out",
            archive(|tar| raw(tar, EntryType::Symlink, "l", "/etc", b"")),
        ),
        (
            "link up",
            archive(|tar| raw(tar, EntryType::Symlink, "l", "../x", b"")),
        ),
        (
            "links that lead out together",
            archive(|tar| {
                raw(tar, EntryType::Symlink, "d", ".", b"");
                raw(tar, EntryType::Symlink, "l", "d/..", b"");
            }),
        ),
        (
            "through a link of its own",
            archive(|tar| {
                raw(tar, EntryType::Directory, "real", "", b"");
                raw(tar, EntryType::Symlink, "l", "real", b"");
                raw(tar, file, "l/evil", "", b"x");
            }),
        ),
        (
            "through a link that is there",
            archive(|tar| raw(tar, file, "linked/evil", "", b"x")),
        ),
        (
            "hard link",
            archive(|tar| raw(tar, EntryType::Link, "l", "/etc/passwd", b"")),
        ),
        (
            "device",
            archive(|tar| raw(tar, EntryType::Char, "null", "", b"")),
        ),
        ("pipe", archive(|tar| raw(tar, EntryType::Fifo, "pipe", "", b""))),
        (
            "twice",
            archive(|tar| {
                raw(tar, file, "same", "", b"1");
                raw(tar, file, "./same", "", b"2");
            }),
        ),
        (
            "too large",
            archive(|tar| raw(tar, file, "zeros", "", &vec![0; 2 << 20])),
        ),
        ("no archive", b"this is no archive, and not even gzip".to_vec()),
        ("cut", {
            let whole = archive(|tar| raw(tar, file, "file", "", &[3; 5000]));
            whole[..whole.len() / 2].to_vec()
        }),
    ];
    for (name, bytes) in bad {
        // What is fine comes first: that must not be left behind either.
        let error = unpack(&client, "target", &bytes).await.unwrap_err();
        assert!(matches!(error, RequestError::Archive { .. }), "{name}: {error}");
        let left: Vec<_> = fs::read_dir(&target)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(left, ["linked"], "{name}");
    }
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0);

    let bits = archive(|tar| raw(tar, file, "tool", "", b"x"));
    unpack(&client, "target", &bits).await.unwrap();
    assert_eq!(fs::metadata(target.join("tool")).unwrap().mode() & 0o7777, 0o777);
}

#[tokio::test]
async fn an_archive_whose_upload_is_cut_is_not_unpacked() {
    let place = Place::new();
    let client = place.connect().await;
    let whole = archive(|tar| raw(tar, EntryType::Regular, "file", "", b"x"));
    let mut upload = client.unpack("target", 1 << 20).await.unwrap();
    upload.send(Bytes::from(whole)).await.unwrap();
    let target = place.root.path().join("target");
    while !target.exists() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    drop(upload);
    while fs::read_dir(&target).unwrap().count() > 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    client.stat("target").await.unwrap();
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
}

#[tokio::test]
async fn a_file_that_is_mostly_holes_is_too_large_for_an_archive() {
    let place = Place::new();
    let client = place.connect().await;
    fs::create_dir(place.root.path().join("d")).unwrap();
    let mut sparse = fs::File::create(place.root.path().join("d/sparse")).unwrap();
    sparse.write_all(b"x").unwrap();
    sparse.set_len(1 << 40).unwrap();
    let error = download(&client, "d", &[]).await.unwrap_err();
    assert!(matches!(error, RequestError::TooLarge { .. }), "{error}");
}
