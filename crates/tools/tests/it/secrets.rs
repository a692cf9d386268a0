//! Secrets reach the commands that name them, and nothing else.

use std::collections::BTreeMap;

use deft_tools::{OutputSink, SecretSet};
use deft_types::{Secret, TerminalAction};
use tokio_util::sync::CancellationToken;

use super::bench::{Bench, text};

const VALUE: &str = "it's a \"s3cret\" $HOME\nwith two lines";

fn bench() -> Bench {
    let bench = Bench::new();
    let secret = |value: &str| Secret::new(value.to_owned());
    let secrets = BTreeMap::from([
        ("API_TOKEN".to_owned(), secret(VALUE)),
        ("OTHER".to_owned(), secret("other-value-7")),
    ]);
    bench.toolbox.secrets().set(SecretSet::new(secrets).unwrap());
    bench
}

#[tokio::test]
async fn a_command_gets_the_secret_it_names_and_the_next_one_does_not() {
    let bench = bench();
    let digest = "printf %s \"$API_TOKEN\" | wc -c; env | grep -c ^API_TOKEN=";
    assert_eq!(text(&bench.sh(digest).await), format!("{}\n1", VALUE.len()));
    let names = "compgen -e | grep -c -e 'API_TOKE[N]' -e 'OTHE[R]'; set | grep -c s3cre[t]";
    assert_eq!(text(&bench.sh(names).await), "0\n0");
    let exported = "export API_TOKEN; echo ${API_TOKEN:0:4}";
    assert_eq!(text(&bench.sh(exported).await), "it's");
    assert_eq!(
        text(&bench.sh("compgen -e | grep -c 'API_TOKE[N]'").await),
        "1",
        "the command exported it itself"
    );
    bench.sh("OTHER=mine").await;
    assert_eq!(text(&bench.sh("echo $OTHER").await), "mine");
    assert_eq!(
        text(&bench.sh_in("beside", "env | grep -c 'OTHE[R]'", None).await),
        "0"
    );
}

#[tokio::test]
async fn a_secret_is_taken_back_from_a_command_that_was_interrupted() {
    let bench = bench();
    bench.sh_for("echo $OTHER; sleep 60", 0.2).await;
    bench.input("C-c").await;
    assert_eq!(text(&bench.sh("compgen -v | grep -c 'OTHE[R]'").await), "0");
}

#[tokio::test]
async fn values_are_hidden_in_the_observation_the_stream_and_the_file() {
    let bench = bench();
    let (sink, mut chunks) = OutputSink::channel();
    let action = TerminalAction {
        command: "set -x; echo \"[$OTHER]\"; printf other-; sleep 0.1; printf 'value-7\\n'; printf %s $OTHER | base64; \
                  printf %s $OTHER | od -An -tx1; \
                  for n in $(seq 1 9000); do echo $n $OTHER; done 2>/dev/null"
            .to_owned(),
        timeout: Some(60.0),
        ..TerminalAction::default()
    };
    let seen = bench.terminal_call(action, sink, CancellationToken::new()).await;
    let shown = text(&seen);
    assert!(
        shown.contains("[<secret-hidden>]") && shown.contains("9000 <secret-hidden>"),
        "{shown}"
    );
    let mut live = Vec::new();
    while let Ok(chunk) = chunks.try_recv() {
        live.extend_from_slice(&chunk);
    }
    let file = shown.split("the whole output is in ").nth(1).unwrap();
    let saved = std::fs::read_to_string(file.split(' ').next().unwrap()).unwrap();
    for (place, text) in [
        ("observation", shown.clone()),
        ("stream", String::from_utf8_lossy(&live).into_owned()),
        ("file", saved),
    ] {
        assert!(text.contains("<secret-hidden>"), "{place}");
        assert!(
            ["other-value", "b3RoZXItdmFsdWUt", "6f 74 68 65", "61 6c 75 65"]
                .iter()
                .all(|form| !text.contains(form)),
            "{place}"
        );
    }
}

#[tokio::test]
async fn no_secret_is_left_in_a_file_of_ours() {
    let bench = bench();
    bench.sh("echo $API_TOKEN $OTHER").await;
    for entry in std::fs::read_dir(bench.private_dir()).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read(&path).unwrap_or_default();
        assert!(
            !String::from_utf8_lossy(&text).contains("s3cret"),
            "{}",
            path.display()
        );
    }
}
