//! Conversations of the server that work in a copy of the repository.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::commands::Home;
use crate::serve::Served;

const KEY: &str = "k-one";

pub(crate) fn git(directory: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@localhost", "-C"])
        .arg(directory)
        .args(args)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

struct Project {
    home: Home,
    served: Served,
}

impl Project {
    fn new() -> Self {
        // Sandboxes have a temporary directory of their own, in which nothing of this one is seen.
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let home = Home { root };
        let work = home.work();
        std::fs::create_dir(&work).unwrap();
        git(&work, &["init", "-q", "-b", "main"]);
        std::fs::write(work.join("a.txt"), "one\n").unwrap();
        git(&work, &["add", "-A"]);
        git(&work, &["commit", "-q", "-m", "first"]);
        git(&work, &["branch", "other"]);
        git(&work, &["remote", "add", "origin", "https://example.org/x.git"]);
        let served = Served::start(&home, &[("SESSION_API_KEY", KEY)]);
        Self { home, served }
    }

    /// Begins a conversation whose agent runs these commands, and gives back its id.
    fn begin(&self, commands: &str, more: &Value) -> (u16, Value) {
        let call = format!("- tool_calls: [{{name: terminal, arguments: {{command: '{commands}'}}}}]\n");
        let model = self.home.script(&format!("{call}- text: Done.\n"));
        let mut body = json!({
            "agent": {"llm": {"model": model}, "tools": [{"name": "terminal"}]},
            "workspace": {"working_dir": self.home.work()},
            "initial_message": {"role": "user", "content": [{"type": "text", "text": "Go."}]},
        });
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        self.served.post("/api/conversations", KEY, &body)
    }

    fn ended(&self, id: &str) -> Value {
        let path = format!("/api/conversations/{id}");
        let begun = std::time::Instant::now();
        loop {
            let (_, info) = self.served.send("GET", &path, KEY, &Value::Null);
            if info["execution_status"] == "finished" {
                return info;
            }
            assert!(begun.elapsed().as_secs() < 60, "{info}");
        }
    }

    fn delete(&self, id: &str) {
        let (status, answer) =
            self.served
                .send("DELETE", &format!("/api/conversations/{id}"), KEY, &Value::Null);
        assert_eq!(status, 200, "{answer}");
    }

    fn branches(&self) -> String {
        git(&self.home.work(), &["branch", "--format=%(refname:short)"])
    }
}

fn id_of(info: &Value) -> String {
    info["id"].as_str().unwrap().to_owned()
}

fn place_of(info: &Value) -> PathBuf {
    PathBuf::from(info["workspace"]["working_dir"].as_str().unwrap())
}

#[test]
fn a_conversation_works_on_a_branch_of_its_own_which_comes_home_in_the_end() {
    let project = Project::new();
    let work = project.home.work();
    let commands = "echo two > b.txt && git add -A && git -c user.name=A -c user.email=a@b commit -q -m second && \
                    echo three > c.txt";
    let (status, info) = project.begin(
        commands,
        &json!({"worktree": true, "worktree_options": {"branch_prefix": "try/"}}),
    );
    assert_eq!(status, 201, "{info}");
    let (id, copy) = (id_of(&info), place_of(&info));
    assert_ne!(copy, work);
    project.ended(&id);
    assert!(copy.join("b.txt").exists() && copy.join("c.txt").exists());
    assert!(!work.join("b.txt").exists(), "the repository is left alone");
    let branch = git(&copy, &["branch", "--show-current"]);
    assert!(branch.starts_with("try/"), "{branch}");
    assert_eq!(
        git(&copy, &["remote", "get-url", "origin"]),
        "https://example.org/x.git"
    );

    // A child goes on from there, in a copy of its own that outlives its parent's.
    let body = json!({"task": "Go on."});
    let (status, child) = project
        .served
        .post(&format!("/api/conversations/{id}/children"), KEY, &body);
    assert_eq!(
        (status, &child["isolation"]),
        (201, &json!("worktree")),
        "{child}"
    );
    let child_id = child["conversation_id"].as_str().unwrap();
    let child_copy = PathBuf::from(child["workspace"].as_str().unwrap());
    project.ended(child_id);
    assert!(
        child_copy.join("b.txt").exists(),
        "it has what its parent had committed"
    );

    project.delete(&id);
    assert!(!copy.exists());
    assert!(project.branches().contains(&branch), "{}", project.branches());
    assert_eq!(git(&work, &["show", &format!("{branch}:b.txt")]), "two");
    assert_eq!(
        git(&work, &["show", &format!("{branch}:c.txt")]),
        "three",
        "what was left is committed"
    );
    assert_eq!(
        git(&child_copy, &["fsck", "--connectivity-only", "--no-dangling"]),
        "",
        "nothing is missing there"
    );
    project.delete(child_id);
    assert!(!child_copy.exists());
}

#[test]
fn a_copy_begins_where_it_is_told_and_nothing_is_copied_where_there_is_no_repository() {
    let project = Project::new();
    let work = project.home.work();
    git(&work, &["commit", "-q", "--allow-empty", "-m", "later"]);
    let (status, info) = project.begin(
        "true",
        &json!({"worktree": true, "worktree_options": {"base": "ref", "ref": "other"}}),
    );
    assert_eq!(status, 201, "{info}");
    project.ended(&id_of(&info));
    let copy = place_of(&info);
    assert_eq!(
        git(&copy, &["rev-parse", "HEAD"]),
        git(&work, &["rev-parse", "other"])
    );
    let before = project.branches();
    project.delete(&id_of(&info));
    assert_eq!(
        project.branches(),
        before,
        "a branch without anything of its own is none"
    );

    let (status, refused) = project.begin(
        "true",
        &json!({"worktree": true, "worktree_options": {"base": "ref", "ref": "nowhere"}}),
    );
    assert_eq!(status, 422, "{refused}");
    assert!(
        refused["detail"]
            .as_str()
            .unwrap()
            .contains("no commit to begin with"),
        "{refused}"
    );
    let (status, _) = project.begin(
        "true",
        &json!({"worktree": true, "worktree_options": {"base": "ref", "ref": "-x"}}),
    );
    assert_eq!(status, 422);

    let elsewhere = tempfile::tempdir().unwrap();
    let plain = elsewhere.path().join("plain");
    let (status, info) = project.begin(
        "true",
        &json!({"worktree": true, "workspace": {"working_dir": plain}}),
    );
    assert_eq!(status, 201, "{info}");
    assert_eq!(place_of(&info), plain);
    project.ended(&id_of(&info));

    let hidden = elsewhere.path().join("hidden");
    std::fs::create_dir(&hidden).unwrap();
    git(&hidden, &["init", "-q"]);
    git(&hidden, &["commit", "-q", "--allow-empty", "-m", "first"]);
    let (status, refused) = project.begin(
        "true",
        &json!({"worktree": true, "workspace": {"working_dir": hidden}}),
    );
    assert_eq!(status, 422, "{refused}");
    assert!(
        refused["detail"].as_str().unwrap().contains("cannot be seen"),
        "{refused}"
    );
}
