//! A patch is applied as a whole or not at all.

use std::os::unix::fs::{PermissionsExt, symlink};

use deft_types::{ApplyPatchAction, ApplyPatchObservation, Observation, text_of};

use super::bench::Bench;

async fn apply(bench: &Bench, sections: &str) -> ApplyPatchObservation {
    apply_text(bench, &format!("*** Begin Patch\n{sections}\n*** End Patch")).await
}

async fn apply_text(bench: &Bench, patch: &str) -> ApplyPatchObservation {
    let action = ApplyPatchAction {
        patch: patch.to_owned(),
        ..ApplyPatchAction::default()
    };
    match bench.call("apply_patch", action).await {
        Observation::ApplyPatch(seen) => *seen,
        other => panic!("{other:?}"),
    }
}

fn read(bench: &Bench, name: &str) -> String {
    String::from_utf8(std::fs::read(bench.workspace().join(name)).unwrap()).unwrap()
}

fn entries(bench: &Bench) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(bench.workspace())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn nothing_is_written_when_a_later_part_does_not_fit() {
    let bench = Bench::new();
    bench.write("a", "one\n");
    for later in [
        "*** Add File: ../escape\n+x",
        "*** Add File: /etc/escape\n+x",
        "*** Update File: a\n@@\n-absent\n+x",
        "*** Delete File: absent",
        "*** Add File: new\n+again",
        "*** Update File: a\n*** Move to: ../b\n@@\n-one\n+1",
        "*** Add File: a/below\n+x",
        "nonsense",
    ] {
        let seen = apply(&bench, &format!("*** Add File: new\n+x\n{later}")).await;
        assert!(seen.is_error, "{later}");
        assert_eq!(entries(&bench), ["a"], "{later}: {}", text_of(&seen.content));
        assert_eq!(read(&bench, "a"), "one\n");
    }
}

#[tokio::test]
async fn a_write_that_fails_takes_the_others_back() {
    let bench = Bench::new();
    bench.write("a", "one\n");
    // One of the two cannot be written, which only the writing shows.
    for sections in [
        "*** Add File: d\n+x\n*** Add File: d/x\n+x",
        "*** Add File: d/x\n+x\n*** Add File: d\n+x",
    ] {
        let seen = apply(&bench, &format!("*** Update File: a\n@@\n-one\n+1\n{sections}")).await;
        assert!(
            seen.is_error && text_of(&seen.content).contains("taken back"),
            "{}",
            text_of(&seen.content)
        );
        assert_eq!(
            (entries(&bench), read(&bench, "a")),
            (vec!["a".to_owned()], "one\n".to_owned())
        );
    }
}

#[tokio::test]
async fn links_may_not_lead_out_of_the_workspace() {
    let bench = Bench::new();
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("file");
    std::fs::write(&file, "one\n").unwrap();
    symlink(&file, bench.workspace().join("link")).unwrap();
    symlink(outside.path(), bench.workspace().join("directory")).unwrap();
    symlink(outside.path().join("new"), bench.workspace().join("dangling")).unwrap();
    for sections in [
        "*** Update File: link\n@@\n-one\n+1",
        "*** Delete File: link",
        "*** Add File: directory/new\n+x",
        "*** Add File: dangling\n+x",
    ] {
        assert!(apply(&bench, sections).await.is_error, "{sections}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\n");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn files_stay_what_they_were_but_for_the_patch() {
    let bench = Bench::new();
    bench.write("dos", "\u{feff}one\r\ntwo\r\nthree\r\n");
    let script = bench.write("script", "#!/bin/sh\necho one\n");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o750)).unwrap();
    bench.write("target", "t\n");
    symlink("target", bench.workspace().join("link")).unwrap();
    let seen = apply(
        &bench,
        "*** Update File: dos\n@@\n one\n-two\n+2\n+2\n*** Update File: script\n*** Move to: bin/run\n@@\n-echo one\n+echo 1\n\
         *** Update File: link\n@@\n-t\n+T",
    )
    .await;
    assert!(!seen.is_error, "{}", text_of(&seen.content));
    assert_eq!(read(&bench, "dos"), "\u{feff}one\r\n2\r\n2\r\nthree\r\n");
    assert_eq!(read(&bench, "bin/run"), "#!/bin/sh\necho 1\n");
    let mode = std::fs::metadata(bench.workspace().join("bin/run"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o750);
    assert_eq!(read(&bench, "target"), "T\n");
    assert_eq!(entries(&bench), ["bin", "dos", "link", "target"]);
    assert!(bench.workspace().join("link").is_symlink());
}

#[tokio::test]
async fn hunks_find_their_place() {
    let bench = Bench::new();
    let check = async |before: &str, hunks: &str, after: &str, fuzz: i64| {
        bench.write("f", before);
        let seen = apply(&bench, &format!("*** Update File: f\n{hunks}")).await;
        assert_eq!(
            (read(&bench, "f").as_str(), seen.fuzz),
            (after, fuzz),
            "{hunks}: {}",
            text_of(&seen.content)
        );
    };
    check("a\nx\nb\nx\n", "@@ b\n-x\n+y", "a\nx\nb\ny\n", 0).await;
    check("a\n  b\nx\n", "@@ b\n-x\n+y", "a\n  b\ny\n", 1).await;
    check(
        "f {\n1\n}\ng {\n1\n}\n",
        "@@ g {\n-1\n+2\n }",
        "f {\n1\n}\ng {\n2\n}\n",
        0,
    )
    .await;
    check("f\ng\n1\n", "@@ f\n@@ g\n-1\n+2", "f\ng\n2\n", 0).await;
    check("x\na\nx\n", "@@\n-x\n+y\n*** End of File", "x\na\ny\n", 0).await;
    check("x\na", "@@\n-x\n+y\n*** End of File", "y\na", 10_000).await;
    check("a  \nx\n", "@@\n a\n-x\n+y", "a  \ny\n", 1).await;
    check("\ta\nx\n", "@@\n a\n-x\n+y", "\ta\ny\n", 100).await;
    check("a\nb\nc\n", "@@\n-a\n+1\n@@\n-c\n+3", "1\nb\n3\n", 0).await;
    check("a\nb\nc\n", "-a\n+1\n b", "1\nb\nc\n", 0).await;
    check("a\nb\n", "@@ -1,2 +1,2 @@\n-a\n+1\n b\n\n", "1\nb\n", 0).await;
    check("a\n\nb\n", "@@\n a\n\n-b\n+c", "a\n\nc\n", 0).await;
    check("a\nb", "@@\n-b", "a", 0).await;
    check("a\nb\n", "@@\n-b", "a\n", 0).await;
    check("a", "@@\n-a", "", 0).await;
    check("", "@@\n+a", "a\n", 0).await;
}

#[tokio::test]
async fn hunks_that_fit_nowhere_or_in_several_places_are_refused() {
    let bench = Bench::new();
    for (before, hunks, word) in [
        ("a\n", "@@\n-b\n+c", "not found"),
        ("a\nb\n", "@@\n-b\n+2\n@@\n-a\n+1", "order of the file"),
        ("x\nx\n", "@@ lost\n-x\n+y", "several places"),
    ] {
        bench.write("f", before);
        let seen = apply(&bench, &format!("*** Update File: f\n{hunks}")).await;
        assert!(
            seen.is_error && text_of(&seen.content).contains(word),
            "{}",
            text_of(&seen.content)
        );
        assert_eq!(read(&bench, "f"), before);
    }
}

#[tokio::test]
async fn a_patch_may_have_blank_lines_around_it_and_long_line_ends() {
    let bench = Bench::new();
    bench.write("f", "a\nb\n");
    let patch = "\n*** Begin Patch\r\n*** Update File: f\r\n@@\r\n a\r\n-b\r\n+c\r\n\r\n*** Add File: new\r\n+x\r\n\r\n*** End Patch\r\n";
    let seen = apply_text(&bench, patch).await;
    assert!(!seen.is_error, "{}", text_of(&seen.content));
    assert_eq!(
        (read(&bench, "f"), read(&bench, "new")),
        ("a\nc\n".to_owned(), "x\n".to_owned())
    );
}
