use super::*;

/// bubblewrap takes 9000 words, four of them for a path, and more for what lies above it.
const MAX_KEPT: usize = 1000;

fn place(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

/// The guards by their paths in the workspace, those for other agents' settings aside.
fn of_git(root: &Path) -> Vec<(String, Guard)> {
    let policy = Policy::for_user(None, Path::new("/state"));
    let root = root.canonicalize().unwrap();
    let guards = guards(&policy, &root).into_iter();
    guards
        .map(|(path, guard)| (path.strip_prefix(&root).unwrap().display().to_string(), guard))
        .filter(|(path, _)| path.contains(".git") || !policy.protected.contains(&PathBuf::from(path)))
        .collect()
}

fn owned(guards: &[(&str, Guard)]) -> Vec<(String, Guard)> {
    let owned = guards.iter().map(|(path, guard)| ((*path).to_owned(), *guard));
    owned.collect()
}

#[test]
fn all_that_git_obeys_is_kept_in_a_repository_and_its_submodules() {
    let root = place(&[
        (".git/HEAD", "ref: refs/heads/main"),
        (
            ".git/config",
            "[core]\n\thooksPath = .husky\n[include]\n\tpath = ../team.config",
        ),
        (".git/hooks/pre-commit.sample", ""),
        (".git/modules/a/b/HEAD", ""),
        (".git/modules/a/b/config", "[core]\n\tworktree = ../../../../lib"),
        (".git/worktrees/w/commondir", "../..\n"),
        (".git/worktrees/w/gitdir", "/elsewhere/.git\n"),
        (
            ".gitmodules",
            "[submodule \"a/b\"]\n\tpath = lib\n[submodule \"bad\"]\n\tpath = ../..\n",
        ),
        (".husky/pre-commit", ""),
        ("lib/.git", "gitdir: ../.git/modules/a/b\n"),
        ("team.config", ""),
    ]);
    let placed = Guard::Placed(".\n");
    let expected = [
        (".git/commondir", placed),
        (".git/config", Guard::Placed("")),
        (".git/hooks", Guard::ReadOnly),
        (".git/modules/a/b/commondir", placed),
        (".git/modules/a/b/config", Guard::Placed("")),
        (".git/modules/a/b/hooks", Guard::Absent),
        (".git/worktrees/w/commondir", Guard::ReadOnly),
        (".git/worktrees/w/gitdir", Guard::ReadOnly),
        (".husky", Guard::ReadOnly),
        ("lib/.git", Guard::ReadOnly),
        ("team.config", Guard::ReadOnly),
    ];
    assert_eq!(of_git(root.path()), owned(&expected));
    let kept = keep_as_it_is(root.path()).unwrap();
    for (path, read_only) in [
        (".git", false),
        (".git/commondir", true),
        (".git/modules/a/b", false),
        (".husky", true),
        ("lib", false),
        ("lib/.git", true),
    ] {
        let path = root.path().join(path);
        let expected = Kept {
            path,
            read_only,
            is_of_its_place: true,
        };
        assert!(kept.contains(&expected), "{kept:?}");
    }
    assert_eq!(
        fs::read_to_string(root.path().join(".git/commondir")).unwrap(),
        STAYS
    );
}

#[test]
fn hooks_that_others_call_and_settings_that_others_include_are_kept() {
    let root = place(&[
        (
            ".git/config",
            "[core] hooksPath = .husky/_\n[include]\n\tpath = ../git/team\n",
        ),
        (".husky/_/pre-commit", ""),
        (".husky/pre-commit", ""),
        ("git/team", "[include]\n\tpath = more\n"),
        (
            "git/more",
            "[core]\n\thooksPath = scripts\n[include]\n\tpath = more\n",
        ),
        ("scripts/pre-commit", ""),
        (".git/hooks/pre-push.sample", ""),
        ("tools/check.sh", ""),
    ]);
    std::os::unix::fs::symlink("../../tools/check.sh", root.path().join(".git/hooks/pre-push")).unwrap();
    let guards = guards(&Policy::for_user(None, Path::new("/state")), root.path());
    for kept in [".husky", "git/team", "git/more", "scripts", "tools/check.sh"] {
        assert_eq!(
            guards.get(&root.path().join(kept)),
            Some(&Guard::ReadOnly),
            "{kept}"
        );
    }
}

#[test]
fn a_workspace_that_is_named_as_a_place_for_hooks_can_be_worked_in() {
    let root = place(&[
        (".git/config", "[core]\n\thooksPath = .\n"),
        (".git/hooks/a.sample", ""),
    ]);
    std::os::unix::fs::symlink("../..", root.path().join(".git/hooks/pre-push")).unwrap();
    let guards = guards(&Policy::for_user(None, Path::new("/state")), root.path());
    assert!(!guards.contains_key(root.path()), "{guards:?}");
}

#[test]
fn hooks_of_every_repository_are_kept_where_a_user_has_named_them() {
    let home = place(&[
        (".gitconfig", "[core]\n\thooksPath = .githooks\n"),
        (
            ".config/git/config",
            "[core]\n\thooksPath = ../out\n\thooksPath = /etc/hooks\n\thooksPath = ~/h\n",
        ),
    ]);
    let policy = Policy::for_user(Some(home.path()), Path::new("/state"));
    let named: Vec<_> = policy
        .protected
        .iter()
        .filter(|path| path.to_string_lossy().contains("hooks"))
        .collect();
    assert_eq!(named, [Path::new(".githooks")]);
    let root = place(&[("main.c", "")]);
    let guards = guards(&policy, root.path());
    assert_eq!(guards[&root.path().join(".githooks")], Guard::Absent);
}

#[test]
fn a_linked_worktree_keeps_its_link_and_the_repository_where_that_can_be_written() {
    let elsewhere = place(&[
        (".git/HEAD", ""),
        (".git/config", "[extensions]\n\tworktreeConfig = true"),
        (".git/worktrees/w/commondir", "../..\n"),
        (".git/worktrees/w/gitdir", ""),
    ]);
    let repository = elsewhere.path().canonicalize().unwrap().join(".git");
    let link = format!("gitdir: {}/worktrees/w\n", repository.display());
    let root = place(&[(".git", &link)]);
    assert_eq!(of_git(root.path()), owned(&[(".git", Guard::ReadOnly)]));

    let mut policy = Policy::for_user(None, Path::new("/state"));
    policy.writable = vec![repository.clone()];
    let guards = guards(&policy, root.path());
    for (path, guard) in [
        ("config", Guard::Placed("")),
        ("config.worktree", Guard::Placed("")),
        ("hooks", Guard::Absent),
        ("worktrees/w/commondir", Guard::ReadOnly),
        ("worktrees/w/config.worktree", Guard::Placed("")),
    ] {
        assert_eq!(guards.get(&repository.join(path)), Some(&guard), "{path}");
    }
}

#[test]
fn projects_below_a_directory_are_kept_and_so_are_worktrees_in_a_repository() {
    let root = place(&[
        ("a/.git/config", ""),
        ("a/.vscode/tasks.json", ""),
        ("a/vendored/.git/config", ""),
        ("host/owner/name/.git/config", ""),
        ("host/owner/name/deeper/still/.git/config", ""),
        ("notes/.vscode/tasks.json", ""),
    ]);
    let placed = Guard::Placed(".\n");
    let expected = [
        ("a/.git/commondir", placed),
        ("a/.git/config", Guard::Placed("")),
        ("a/.git/hooks", Guard::Absent),
        ("a/.vscode", Guard::ReadOnly),
        ("host/owner/name/.git/commondir", placed),
        ("host/owner/name/.git/config", Guard::Placed("")),
        ("host/owner/name/.git/hooks", Guard::Absent),
    ];
    assert_eq!(of_git(root.path()), owned(&expected));
    let mut policy = Policy::for_user(None, Path::new("/state"));
    policy.writable = vec![root.path().join("a/.vscode")];
    assert!(!guards(&policy, root.path()).contains_key(&policy.writable[0]));

    let root = place(&[
        (".git/config", ""),
        (".git/worktrees/w/commondir", "../..\n"),
        (".git/worktrees/w/gitdir", "../../../trees/w/.git\n"),
        ("trees/w/.git", "gitdir: ../../.git/worktrees/w\n"),
        ("left/by/tests/.git/config", ""),
    ]);
    let guards = of_git(root.path());
    assert!(guards.contains(&("trees/w/.git".to_owned(), Guard::ReadOnly)));
    assert!(!guards.iter().any(|(path, _)| path.starts_with("left")));
}

#[test]
fn of_many_projects_those_are_kept_that_were_there_first() {
    let root = tempfile::tempdir().unwrap();
    let names: Vec<_> = (0..100).rev().map(|number| format!("{number:02}")).collect();
    for name in &names {
        fs::create_dir_all(root.path().join(name).join(".git")).unwrap();
    }
    let guards = of_git(root.path());
    assert_eq!(guards.len(), MAX_OF_PROJECTS);
    let made = repository::below(root.path());
    assert_eq!(made.len(), names.len());
    for project in &made[..MAX_OF_PROJECTS / 3] {
        let config = project.strip_prefix(root.path()).unwrap().join(".git/config");
        let config = (config.display().to_string(), Guard::Placed(""));
        assert!(guards.contains(&config), "{config:?} {guards:?}");
    }
}

#[test]
fn what_an_engine_cannot_be_told_is_not_kept_in_containers() {
    use std::os::unix::ffi::OsStrExt as _;
    let root = place(&[("a/.git", "gitdir: nowhere")]);
    let project = root.path().join(std::ffi::OsStr::from_bytes(b"na\xefve"));
    fs::create_dir_all(project.join(".git/hooks")).unwrap();
    let kept = keep_as_it_is(root.path()).unwrap();
    let kept: Vec<_> = kept.iter().map(|kept| kept.path.clone()).collect();
    assert_eq!(kept, [root.path().join("a"), root.path().join("a/.git")]);
}

#[test]
fn what_is_not_there_is_kept_from_being_made_unless_all_is_new_or_the_user_says_so() {
    let mut policy = Policy::for_user(None, Path::new("/state"));
    let new = tempfile::tempdir().unwrap();
    assert!(guards(&policy, new.path()).is_empty());

    let root = place(&[("main.c", ""), (".mcp.json", "{}")]);
    let made = guards(&policy, root.path());
    assert_eq!(made[&root.path().join(".mcp.json")], Guard::ReadOnly);
    assert_eq!(made[&root.path().join("deft.toml")], Guard::Absent);
    assert_eq!(made[&root.path().join(".vscode")], Guard::Absent);
    assert!(!made.keys().any(|path| path.ends_with(".git")));

    policy.writable = vec![root.path().join(".vscode")];
    assert!(!guards(&policy, root.path()).contains_key(&root.path().join(".vscode")));
}

#[test]
fn the_last_one_takes_the_stand_ins_away() {
    let root = place(&[("main.c", ""), (".git/HEAD", ""), (".git/config", "")]);
    let policy = Policy::for_user(None, Path::new("/state"));
    let put = || StandIns::put(root.path(), guards(&policy, root.path())).unwrap();
    let common = root.path().join(".git/commondir");
    let (first, second) = (put(), put());
    fs::create_dir(root.path().join(".claude")).unwrap(); // a mount point
    drop(first);
    assert_eq!(fs::read_to_string(&common).unwrap(), ".\n");
    assert!(root.path().join(".claude").exists());
    drop(second);
    assert!(!common.exists());
    assert!(!root.path().join(".claude").exists());
    assert!(root.path().join(".git/config").exists());
}

#[test]
fn a_link_among_gits_own_directories_leads_nowhere() {
    let outside = place(&[("project/.git/HEAD", ""), ("worktree/gitdir", "")]);
    for name in ["modules", "worktrees"] {
        let root = place(&[(".git/HEAD", "")]);
        std::os::unix::fs::symlink(outside.path(), root.path().join(".git").join(name)).unwrap();
        let kept = of_git(root.path());
        assert!(kept.iter().all(|(path, _)| !path.contains(name)), "{kept:?}");
        keep_as_it_is(root.path()).unwrap();
    }
    assert!(!outside.path().join("project/.git/commondir").exists());
}

#[test]
fn a_link_that_is_put_into_the_way_meanwhile_is_not_followed() {
    let outside = place(&[("hooks/commondir", ".\n")]);
    fs::create_dir(outside.path().join("hooks/empty")).unwrap();
    let root = place(&[]);
    std::os::unix::fs::symlink(outside.path().join("hooks"), root.path().join("lib")).unwrap();
    let guards = BTreeMap::from([
        (root.path().join("lib/commondir"), Guard::Placed(".\n")),
        (root.path().join("lib/empty"), Guard::Absent),
        (root.path().join("lib/new"), Guard::Placed("")),
    ]);
    assert!(StandIns::put(root.path(), guards.clone()).is_err());
    let there = guards.into_iter().filter(|(path, _)| path.exists()).collect();
    drop(StandIns::put(root.path(), there));
    let left = fs::read_dir(outside.path().join("hooks")).unwrap().count();
    assert_eq!(left, 2);
}

#[test]
fn whatever_an_agent_makes_of_gits_own_directories_the_next_sandbox_can_start() {
    let root = place(&[(".git/HEAD", "")]);
    let includes: String = (0..32)
        .map(|number| format!("[include]\npath = ../../../{number}\n"))
        .collect();
    for number in 0..150 {
        let worktree = root.path().join(format!(".git/worktrees/{number}"));
        fs::create_dir_all(&worktree).unwrap();
        fs::write(worktree.join("config"), &includes).unwrap();
        fs::create_dir_all(root.path().join(format!(".git/modules/name/{number}"))).unwrap();
        fs::write(root.path().join(number.to_string()), "").unwrap();
    }
    let kept = of_git(root.path());
    for whole in [".git/worktrees", ".git/modules"] {
        assert!(kept.contains(&(whole.to_owned(), Guard::ReadOnly)), "{whole}");
    }
    assert!(kept.contains(&(".git/config".to_owned(), Guard::Placed(""))));
    assert!(kept.len() < MAX_KEPT, "{}", kept.len());
}

#[test]
fn whatever_submodules_an_agent_names_the_next_sandbox_can_start() {
    let root = place(&[(".git/HEAD", "")]);
    let many: String = (0..1_200).map(|number| format!("path = m/{number}\n")).collect();
    // Each names the next one many times over: without a memory the walk would never end.
    let again = "path = d\n".repeat(1_000);
    let mut deep = root.path().join("d");
    for _ in 0..8 {
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join(".git"), "").unwrap();
        fs::write(deep.join(".gitmodules"), &again).unwrap();
        deep.push("d");
    }
    for number in 0..1_200 {
        let module = root.path().join(format!("m/{number}"));
        fs::create_dir_all(&module).unwrap();
        fs::write(module.join(".git"), "").unwrap();
    }
    fs::write(root.path().join(".gitmodules"), format!("path = d\n{many}")).unwrap();
    let kept = of_git(root.path());
    assert!(kept.contains(&(".git/config".to_owned(), Guard::Placed(""))));
    assert!(kept.contains(&("d/.git".to_owned(), Guard::ReadOnly)));
    assert!(kept.len() < MAX_KEPT, "{}", kept.len());
}

#[test]
fn submodules_that_are_named_over_and_over_are_looked_at_once() {
    let root = place(&[("a/.git/HEAD", ""), ("a/b/.git/HEAD", ""), (".git/HEAD", "")]);
    for (file, named) in [(".gitmodules", "path = a\n"), ("a/.gitmodules", "path = b\n")] {
        fs::write(root.path().join(file), named.repeat(50_000)).unwrap();
    }
    let kept = of_git(root.path());
    for git in [".git", "a/.git", "a/b/.git"] {
        assert!(
            kept.contains(&(format!("{git}/config"), Guard::Placed(""))),
            "{git}"
        );
    }
}

#[test]
fn what_starts_with_a_users_shells_is_kept_where_the_workspace_is_their_home() {
    let home = place(&[
        (".bashrc", ""),
        (".config/git/config", ""),
        ("project/main.c", ""),
    ]);
    let home = home.path().canonicalize().unwrap();
    let mut policy = Policy::for_user(Some(&home), Path::new("/state"));
    let kept = |policy: &Policy, root: &Path| guards(policy, root);
    let in_home = kept(&policy, &home);
    for path in [".bashrc", ".config/git"] {
        assert_eq!(in_home.get(&home.join(path)), Some(&Guard::ReadOnly), "{path}");
    }
    assert!(!in_home.contains_key(&home.join(".zshrc")));
    assert!(
        kept(&policy, &home.join("project"))
            .keys()
            .all(|path| path.starts_with(home.join("project")))
    );
    policy.writable = vec![home.join(".bashrc")];
    assert!(!kept(&policy, &home).contains_key(&home.join(".bashrc")));
}
