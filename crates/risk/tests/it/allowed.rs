//! What rules of a person allow.

use deft_risk::{AllowRule, BadAllowRule, Site, allows};
use serde_json::json;

use super::{WORKSPACE, event, terminal};

#[test]
fn a_rule_allows_what_begins_with_its_words_and_nothing_else() {
    let rules: Vec<_> = [
        "git commit",
        "cargo test",
        "timeout 60 make",
        "CI=1 npm test",
        "ls > files.txt",
        "echo > a.sh",
        "sh a.sh",
        "find",
    ]
    .iter()
    .filter_map(|rule| AllowRule::parse(rule).ok())
    .collect();
    assert_eq!(rules.len(), 7, "`find` runs whatever it is told to");
    for (expected, command) in [
        (true, "git commit"),
        (true, "git commit -m 'a message; with | signs'"),
        (true, "git  'commit' -m x && cargo test --all"),
        (true, "cargo test | cargo test"),
        (true, "timeout 60 make all"),
        (true, "make all"),
        (true, "CI=1 npm test"),
        (true, "ls > files.txt"),
        (true, "echo evil > a.sh"),
        (true, "sh a.sh"),
        (false, "echo evil > a.sh; sh a.sh"),
        (false, "git commit-tree x"),
        (false, "git committed"),
        (false, "git push"),
        (false, "git -c core.editor=x commit"),
        (false, "git commit && git push"),
        (false, "git commit; rm -rf /"),
        (false, "git commit | sh"),
        (false, "git commit -m \"$(rm -rf /)\""),
        (false, "git commit -m `id`"),
        (false, "git commit -m $X"),
        (false, "git commit > /etc/passwd"),
        (false, "git commit <<< x"),
        (false, "GIT_EDITOR=evil git commit"),
        (false, "CI=2 npm test"),
        (false, "ls > other.txt"),
        (false, "sudo git commit"),
        (false, "bash -c 'git commit'"),
        (false, "git() { evil; }; git commit"),
        (false, "git commit 'unfinished"),
        (false, "git commit\nevil"),
        (false, "git commit & evil"),
        (false, "gi\u{200b}t commit"),
        (false, "find . -exec git commit ;"),
        (false, ""),
    ] {
        assert_eq!(
            allows(&rules, &terminal(command), WORKSPACE),
            expected,
            "{command}"
        );
    }
    assert!(!allows(&[], &terminal("ls"), WORKSPACE));
    let touch = [AllowRule::parse("touch").unwrap()];
    let in_etc = Site {
        workspace: WORKSPACE,
        directory: "/etc",
    };
    assert!(allows(&touch, &terminal("touch hosts"), WORKSPACE));
    assert!(!allows(&touch, &terminal("touch hosts"), in_etc));
    let typed = json!({"kind": "TerminalAction", "command": "git commit", "is_input": true});
    assert!(!allows(&rules, &event("terminal", &typed), WORKSPACE));
    assert!(!allows(
        &rules,
        &event(
            "finish",
            &json!({"kind": "FinishAction", "message": "git commit"})
        ),
        WORKSPACE
    ));
}

#[test]
fn words_behind_a_rule_cannot_write_or_run_what_it_does_not_name() {
    let rules = [
        "git diff",
        "git log",
        "sed -n 1p a",
        "rm",
        "sort",
        "tar xf a.tar",
        "git push --force",
    ];
    let rules: Vec<_> = rules.iter().map(|rule| AllowRule::parse(rule).unwrap()).collect();
    for (expected, command) in [
        (true, "git diff --stat HEAD~1 -- src"),
        (true, "git log --oneline -n 3"),
        (true, "sed -n 1p a"),
        (true, "rm a.txt"),
        (true, "sort -k 2 a"),
        (true, "git push --force"),
        (false, "git diff --output=.git/HOOKED"),
        (false, "git diff --outp .git/HOOKED"),
        (false, "git diff --ext-diff"),
        (false, "git log -Onone"),
        (false, "sed -n 1p a -e '1e rm b'"),
        (false, "sed -n 1p a b"),
        (false, "rm -rf build"),
        (false, "rm -rf /"),
        (false, "sort -o /etc/passwd a"),
        (false, "tar xf a.tar --to-command=sh"),
        (false, "tar xf a.tar -I sh"),
    ] {
        assert_eq!(
            allows(&rules, &terminal(command), WORKSPACE),
            expected,
            "{command}"
        );
    }
    for rule in ["sed", "gdb", "sqlite3", "ed", "vim", "less", "awk"] {
        assert!(AllowRule::parse(rule).is_err(), "{rule}");
    }
}

#[test]
fn a_rule_that_would_allow_anything_is_refused() {
    let everything = |rule: &str| matches!(AllowRule::parse(rule), Err(BadAllowRule::Everything(_)));
    for rule in [
        "bash",
        "sh -c",
        "sudo",
        "sudo -E",
        "env",
        "python3",
        "python -c",
        "xargs",
        "tmux",
        "screen -dm",
        "eval",
        "timeout 5",
    ] {
        assert!(everything(rule), "{rule}");
    }
    assert!(AllowRule::parse("ssh -o BatchMode=yes host uptime").is_ok());
    assert_eq!(AllowRule::parse("  ").unwrap_err(), BadAllowRule::Empty);
    assert!(matches!(AllowRule::parse("A=1"), Err(BadAllowRule::Empty)));
    assert!(matches!(
        AllowRule::parse("a && b"),
        Err(BadAllowRule::Several(_))
    ));
    for rule in ["$X", "* x", "git $(x)", "git 'commit"] {
        assert!(AllowRule::parse(rule).is_err(), "{rule}");
    }
    assert_eq!(AllowRule::parse(" cargo test ").unwrap().as_str(), "cargo test");
}
