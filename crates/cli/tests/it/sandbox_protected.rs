//! What programs outside obey, and what an agent is told that tries to change it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deft_executor::Client;
use deft_types::{EditorCommand, FileEditorAction};
use deft_workspace::sandbox::{Plan, Tier};
use deft_workspace::{Network, Workspace};

use crate::sandbox::{Inside, Place, machine, tiers};

#[tokio::test]
async fn a_denied_access_is_told_with_path_and_rule() {
    for tier in tiers() {
        let place = Place::new();
        let inside = place.open(tier, Network::Off).await;
        let secret = place.path(".ssh/id").display().to_string();
        let outside = place.path("new").display().to_string();
        let told = inside.run(&format!("cat {secret}")).await;
        assert!(told.contains(&format!("{secret} is hidden")), "{tier:?}: {told}");
        let told = inside.run(&format!("touch {outside}")).await;
        assert!(
            told.contains(&format!("{outside} is outside of the workspace"))
                && told.contains("sandbox_write"),
            "{tier:?}: {told}"
        );
        let view = FileEditorAction {
            command: EditorCommand::View,
            path: secret.clone(),
            ..FileEditorAction::default()
        };
        let told = inside.edit(view).await;
        assert!(told.contains("is hidden"), "{tier:?}: {told}");
        if tier == Tier::Namespaces {
            let told = inside.run("echo x > .vscode/tasks.json").await;
            assert!(told.contains(".vscode/tasks.json is protected"), "{told}");
        }
        let told = inside.run(&format!("touch {outside} 2>&1 | tail -1")).await;
        assert!(
            told.contains("is outside of the workspace"),
            "in a pipe, {tier:?}: {told}"
        );
        let told = inside
            .run("echo 'touch: /x: Permission denied is what it said'")
            .await;
        assert!(!told.contains("[sandbox"), "only told of, {tier:?}: {told}");
        let told = inside.run("cat nothing.txt").await;
        assert!(!told.contains("sandbox"), "{tier:?}: {told}");
        inside.close().await;
    }
}

#[tokio::test]
async fn x3_hooks_and_settings_in_the_workspace_cannot_be_changed() {
    if !tiers().contains(&Tier::Namespaces) {
        return;
    }
    let place = Place::new();
    fs::create_dir_all(place.path("work/.git/modules/lib")).unwrap();
    fs::create_dir_all(place.path("work/lib")).unwrap();
    for (path, text) in [
        (".git/modules/lib/HEAD", "ref: refs/heads/main\n"),
        (".git/modules/lib/config", "[core]\n"),
        (".gitmodules", "[submodule \"lib\"]\n\tpath = lib\n"),
        ("lib/.git", "gitdir: ../.git/modules/lib\n"),
    ] {
        fs::write(place.path("work").join(path), text).unwrap();
    }
    let inside = place.open(Tier::Namespaces, Network::Off).await;
    for attack in [
        "echo evil > .git/hooks/pre-commit",
        "echo evil >> .git/config",
        "git config core.fsmonitor evil",
        "echo evil > deft.toml",
        "rm deft.toml",
        "mv .git/hooks old && mkdir .git/hooks && echo evil > .git/hooks/pre-commit",
        "mv .git old && cp -r old .git && echo evil > .git/hooks/pre-commit",
        "rm -rf .git",
        "echo ../ev > .git/commondir",
        "rm -f .git/commondir && echo ../ev > .git/commondir",
        "echo evil >> .git/modules/lib/config",
        "echo ../../../ev > .git/modules/lib/commondir",
        "mkdir -p .git/modules/lib/hooks && echo evil > .git/modules/lib/hooks/post-checkout",
        "rm -f lib/.git && git init lib",
        "mv lib old-lib",
        "echo evil > .mcp.json",
        "mkdir -p .claude && echo evil > .claude/settings.json",
        "mkdir -p .vscode && echo evil > .vscode/tasks.json",
        "rmdir .vscode",
        "mkdir -p .opencode && echo evil > .opencode/opencode.json",
        "echo 'test-cmd: evil' > .aider.conf.yml",
        "touch new && mv -T new .mcp.json",
        "ln .git/config alias && echo evil >> alias",
        "mount -o remount,rw .git/hooks",
    ] {
        inside
            .refuses(&format!("({attack}) 2>/dev/null && echo ESCAPED"))
            .await;
    }
    assert!(
        inside
            .run("echo x > .git/index.lock && echo fi\"\"ne")
            .await
            .contains("fine")
    );
    inside.close().await;
    assert_eq!(
        fs::read_to_string(place.path("work/.git/config")).unwrap(),
        "[core]\n"
    );
    assert!(
        fs::read_dir(place.path("work/.git/hooks"))
            .unwrap()
            .next()
            .is_none()
    );
    assert!(place.path("work/deft.toml").exists());
    // What stood there in the meantime is taken away.
    for stand_in in [".git/commondir", ".git/modules/lib/hooks", ".mcp.json", ".vscode"] {
        gone(&place.path("work").join(stand_in)).await;
    }
}

#[tokio::test]
async fn x3_in_a_directory_of_projects_the_hooks_and_settings_of_each_are_kept() {
    if !tiers().contains(&Tier::Namespaces) {
        return;
    }
    let place = Place::new();
    let work = place.path("work");
    fs::remove_dir_all(work.join(".git")).unwrap();
    for project in ["one", "group/two"] {
        git(&work, &["init", "-q", "-b", "main", project]);
        fs::create_dir(work.join(project).join(".vscode")).unwrap();
        fs::write(work.join(project).join(".vscode/tasks.json"), "{}").unwrap();
    }
    // A name that is no text.
    fs::create_dir_all(work.join(OsStr::from_bytes(b"na\xefve")).join(".git/hooks")).unwrap();
    let inside = place.open(Tier::Namespaces, Network::Off).await;
    inside
        .refuses("(echo evil > na*ve/.git/hooks/pre-commit) 2>/dev/null && echo ESCAPED")
        .await;
    for project in ["one", "group/two"] {
        for attack in [
            "echo evil > .git/hooks/pre-commit",
            "git config core.fsmonitor evil",
            "mv .git old && cp -r old .git",
            "echo evil > .vscode/tasks.json",
            "mv ../$(basename $PWD) ../old",
        ] {
            inside
                .refuses(&format!("(cd {project} && {attack}) 2>/dev/null && echo ESCAPED"))
                .await;
        }
        let commit = "git -c user.name=me -c user.email=me@example.com commit -q --allow-empty -m first";
        let worked = inside
            .run(&format!("(cd {project} && {commit} && echo wo\"\"rked)"))
            .await;
        assert!(worked.contains("worked"), "{worked}");
    }
    inside.close().await;
    for project in ["one", "group/two"] {
        gone(&work.join(project).join(".git/commondir")).await;
        assert!(git(&work.join(project), &["log", "--oneline"]).contains("first"));
    }
}

#[tokio::test]
async fn x3_of_many_projects_the_oldest_are_kept_and_all_can_be_worked_in() {
    if !tiers().contains(&Tier::Namespaces) {
        return;
    }
    let place = Place::new();
    let work = place.path("work");
    fs::remove_dir_all(work.join(".git")).unwrap();
    for number in 0..30 {
        git(&work, &["init", "-q", "-b", "main", &number.to_string()]);
    }
    let inside = place.open(Tier::Namespaces, Network::Off).await;
    inside
        .refuses("(echo evil > 0/.git/hooks/pre-commit) 2>/dev/null && echo ESCAPED")
        .await;
    let commit = "git -c user.name=me -c user.email=me@example.com commit -q --allow-empty -m first";
    let worked = inside
        .run(&format!(
            "for number in $(seq 0 29); do (cd $number && {commit}) || break; done && git -C 29 log --oneline"
        ))
        .await;
    assert!(worked.contains("first"), "{worked}");
    let mounts = "grep -c \" $PWD/\" /proc/self/mountinfo";
    let counted = inside
        .run(&format!("{mounts}; [ $({mounts}) -lt 80 ] && echo fe\"\"w"))
        .await;
    assert!(counted.contains("few"), "{counted}");
    inside.close().await;
}

async fn gone(path: &Path) {
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    while path.exists() {
        assert!(std::time::Instant::now() < deadline, "{}", path.display());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Git of this machine, which nobody has set up.
fn git(place: &Path, arguments: &[&str]) -> String {
    let run = Command::new("git")
        .args(["-c", "user.name=me", "-c", "user.email=me@example.com"])
        .args(arguments)
        .current_dir(place)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(run.status.success(), "git {arguments:?}: {run:?}");
    String::from_utf8(run.stdout).unwrap()
}

#[tokio::test]
async fn x3_git_outside_runs_nothing_that_an_agent_has_left_and_git_inside_works() {
    if !tiers().contains(&Tier::Namespaces) {
        return;
    }
    let place = Place::new();
    let work = place.path("work");
    fs::remove_dir_all(work.join(".git")).unwrap();
    git(&work, &["init", "-q", "-b", "main", "."]);
    fs::write(work.join("file"), "one\n").unwrap();
    git(&work, &["add", "."]);
    git(&work, &["commit", "-q", "-m", "first"]);
    git(&work, &["worktree", "add", "-q", "../linked"]);

    let inside = place.open(Tier::Namespaces, Network::Off).await;
    let as_me = "git -c user.name=me -c user.email=me@example.com";
    let worked = inside
        .run(&format!(
            "echo two >> file && {as_me} commit -q -a -m second && git switch -q -c other && {as_me} gc -q \
             && git worktree list && git add -A && git status --short && git log --oneline && echo wo\"\"rked"
        ))
        .await;
    assert!(worked.contains("worked") && worked.contains("second"), "{worked}");
    assert!(!worked.contains(".mcp.json"), "a stand-in is no change: {worked}");
    let canary = place.path("canary");
    let evil = format!(
        "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = \"touch {} #\"\n",
        canary.display()
    );
    for attack in [
        "echo ../ev > .git/commondir",
        "echo ../../../ev > .git/worktrees/linked/commondir",
        "cp ev/config .git/config",
    ] {
        inside
            .run(&format!(
                "cp -rn .git ev; rm -f ev/commondir; cat > ev/config <<'END'\n{evil}END\n({attack}) 2>/dev/null"
            ))
            .await;
        // While it runs, too.
        git(&work, &["status"]);
        git(&place.path("linked"), &["status"]);
        assert!(!canary.exists(), "{attack}");
    }
    inside.close().await;
    gone(&work.join(".git/commondir")).await;
    git(&work, &["status"]);
    assert!(git(&work, &["log", "--oneline"]).contains("second"));
    assert!(!canary.exists());

    // In a linked worktree `.git` is a file, which cannot be replaced.
    let mut workspace = place.workspace(None);
    workspace.root = place.path("linked");
    workspace.directory = place.path("state/executors/2");
    let plan = Plan::new(
        place.policy(Network::Off),
        &machine(Tier::Namespaces),
        &workspace.root,
    );
    workspace.sandbox = Some(plan.unwrap());
    let inside = Inside(Client::connect(workspace.open().await.unwrap()).await.unwrap());
    inside.refuses("rm -f .git && echo ESCAPED").await;
    inside
        .refuses("echo 'gitdir: ev' > evil; mv evil .git 2>/dev/null && echo ESCAPED")
        .await;
    inside.close().await;
}

/// As somebody in another sandbox would: puts a link to the keys in the place of a repository and takes it away again.
fn swap(work: &Path) {
    let [repository, aside] = ["evil", "aside"].map(|name| work.join(name));
    let pause = || std::thread::sleep(Duration::from_micros(500));
    put(&repository, &aside);
    // Not where a sandbox that starts was quicker, which makes anew what it finds gone.
    let _ = symlink("../.ssh", &repository);
    pause();
    put(&aside, &repository);
    pause();
}

/// Renames something that is there, whatever stands in the way.
fn put(from: &Path, to: &Path) {
    while fs::rename(from, to).is_err() {
        let _ = fs::remove_file(to).or_else(|_| fs::remove_dir_all(to));
    }
}

#[tokio::test]
async fn x1_a_link_that_is_swapped_while_a_sandbox_starts_is_not_mounted_there() {
    if !tiers().contains(&Tier::Namespaces) {
        return;
    }
    let place = Place::new();
    let work = place.path("work");
    fs::remove_dir_all(work.join(".git")).unwrap();
    fs::create_dir(work.join("evil")).unwrap();
    for git in [".ssh/.git", "work/evil/.git"] {
        fs::write(place.path(git), "x").unwrap();
    }
    let goes_on = Arc::new(AtomicBool::new(true));
    let swapping = std::thread::spawn({
        let goes_on = Arc::clone(&goes_on);
        move || {
            while goes_on.load(Ordering::Relaxed) {
                swap(&work);
            }
        }
    });
    for number in 1..=40 {
        let mut workspace = place.workspace(None);
        workspace.directory = place.path(&format!("state/executors/{number}"));
        let policy = place.policy(Network::Off);
        workspace.sandbox = Some(Plan::new(policy, &machine(Tier::Namespaces), &workspace.root).unwrap());
        // Often it cannot be started, for it is noticed that somebody is at work.
        let Ok(stream) = workspace.open().await else {
            continue;
        };
        let inside = Inside(Client::connect(stream).await.unwrap());
        inside.refuses("cat evil/id aside/id 2>/dev/null").await;
        inside.close().await;
    }
    goes_on.store(false, Ordering::Relaxed);
    swapping.join().unwrap();
}
