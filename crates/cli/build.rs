//! Notes what the program is built from, where that is a repository.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Some(head) = git(&["rev-parse", "--git-path", "HEAD"]) {
        println!("cargo::rerun-if-changed={head}");
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
