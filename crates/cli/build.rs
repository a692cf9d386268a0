//! Notes what the program is built from, where that is a repository.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A release is to know each commit; while one works, another branch is enough.
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let watched = if is_release { "logs/HEAD" } else { "HEAD" };
    let path = git(&["rev-parse", "--git-path", watched]);
    if let Some(path) = path.filter(|path| Path::new(path).exists()) {
        println!("cargo::rerun-if-changed={path}");
    }
    let facts = [
        ("DEFT_GIT_SHA", git(&["rev-parse", "HEAD"])),
        ("DEFT_GIT_REF", git(&["rev-parse", "--abbrev-ref", "HEAD"])),
    ];
    for (variable, fact) in facts {
        if let Some(fact) = fact {
            println!("cargo::rustc-env={variable}={fact}");
        }
    }
}

/// What git says. None: it is not there, or this is no repository.
fn git(arguments: &[&str]) -> Option<String> {
    let answer = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
    let text = text.trim();
    (answer.status.success() && !text.is_empty()).then(|| text.to_owned())
}
