//! Whatever is written, it is judged, and soon.

use std::time::{Duration, Instant};

use deft_risk::{AllowRule, allows, assess};
use proptest::prelude::*;

use super::{WORKSPACE, terminal};

/// Pieces of which the worst scripts are made.
const PIECES: &[&str] = &[
    "$(",
    ")",
    "`",
    "'",
    "\"",
    "{",
    "}",
    "(",
    "((",
    "[[",
    "]]",
    "${",
    "$",
    "\\",
    "<<EOF\n",
    "\nEOF\n",
    "<<<",
    ">",
    ">>",
    "<(",
    "|",
    "&&",
    ";",
    "\n",
    "&",
    " ",
    "rm",
    " -rf ",
    "/",
    "sudo -x ",
    "env ",
    "bash -c ",
    "eval ",
    "xargs ",
    "A=",
    "$A",
    "~",
    "for f in ",
    "; do ",
    "; done",
    "if ",
    "; then ",
    "fi",
    "case x in ",
    ";;",
    "esac",
    "f() ",
    "*",
    "ü",
    "\u{200b}",
    "#",
    "{a,b}",
    "cat <<'X' | ",
    " > f; ",
    " >> f; bash f; ",
    "\\x41",
    "$'",
    "echo ",
    "!",
];

/// On a loaded machine, without optimisation.
const SOON: Duration = Duration::from_secs(20);

fn judged(text: &str) {
    let start = Instant::now();
    let event = terminal(text);
    assess(&event, WORKSPACE);
    assert!(
        start.elapsed() < SOON,
        "{:?} for {} bytes: {:.80}",
        start.elapsed(),
        text.len(),
        text
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_judged(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..60), text in ".{0,40}") {
        let text = format!("{}{text}", pieces.concat());
        judged(&text);
        let rules: Vec<_> = AllowRule::parse(&text).into_iter().collect();
        allows(&rules, &terminal(&text), WORKSPACE);
    }
}

#[test]
fn long_texts_of_every_piece_are_judged_in_time() {
    for piece in PIECES {
        judged(&piece.repeat(30_000 / piece.len()));
    }
    judged(&"A=$A$A$A$A;".repeat(2700));
    judged(&format!(
        "A={};{}",
        "x".repeat(900),
        "$A$A$A$A$A$A$A$A ".repeat(1700)
    ));
    judged(&"{a,b}{c,d}".repeat(3000));
    judged(&"echo bash f f f >> f; bash f; ".repeat(1000));
    judged(&format!(
        "cat > f <<X\n{}X\n{}",
        "bash f\n".repeat(2000),
        "bash f; ".repeat(2000)
    ));
}
