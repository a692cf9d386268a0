//! A terminal for a person, with a real shell.

use bytes::Bytes;
use deft_executor::{ConsoleInput, ConsoleScreen, ConsoleSize};

use super::*;

const SIZE: ConsoleSize = ConsoleSize {
    rows: 24,
    columns: 80,
};

fn keys(text: &'static str) -> ConsoleInput {
    ConsoleInput::Keys(Bytes::from_static(text.as_bytes()))
}

/// Reads until something is shown.
async fn until(screen: &mut ConsoleScreen<'_>, wanted: &str) -> String {
    let mut shown = String::new();
    let reading = async {
        while !shown.contains(wanted) {
            let piece = screen.next().await.unwrap();
            shown.push_str(&String::from_utf8_lossy(&piece));
        }
    };
    let read = tokio::time::timeout(Duration::from_secs(60), reading).await;
    assert!(read.is_ok(), "{wanted:?} is not in {shown:?}");
    shown
}

#[tokio::test]
async fn a_person_has_a_terminal_that_remembers_asks_and_has_a_size() {
    let place = Place::new();
    let client = place.connect().await;
    let mut console = client.open_console(SIZE).await.unwrap();
    let (typed, mut screen) = console.split();
    typed
        .send(keys("test -t 0 && echo is-a-''tty; export KEPT=yes; cd /\r"))
        .await
        .unwrap();
    until(&mut screen, "is-a-tty").await;
    typed.send(keys("echo kept-$KEPT in $PWD.\r")).await.unwrap();
    until(&mut screen, "kept-yes in /.").await;
    typed
        .send(keys("read -p 'name'': ' name; echo hello-$name\r"))
        .await
        .unwrap();
    until(&mut screen, "name: ").await;
    typed.send(keys("Ada\r")).await.unwrap();
    until(&mut screen, "hello-Ada").await;
    typed
        .send(ConsoleInput::Size(ConsoleSize {
            rows: 33,
            columns: 121,
        }))
        .await
        .unwrap();
    typed.send(keys("stty size\r")).await.unwrap();
    until(&mut screen, "33 121").await;
    typed
        .send(keys("sh -c \"echo sle''eping; exec sleep 600\"\r"))
        .await
        .unwrap();
    until(&mut screen, "sleeping").await;
    typed.send(keys("\u{3}")).await.unwrap();
    typed.send(keys("echo inter''rupted\r")).await.unwrap();
    until(&mut screen, "interrupted").await;
    typed.send(keys("exit 3\r")).await.unwrap();
    while screen.next().await.is_some() {}
    assert_eq!(console.ended().await, Ok(Some(3)));
}

#[tokio::test]
async fn all_that_a_terminal_has_started_ends_with_it() {
    deft_tools::become_subreaper().unwrap();
    let place = Place::new();
    let client = place.connect().await;
    let mut console = client.open_console(SIZE).await.unwrap();
    {
        let (typed, mut screen) = console.split();
        let start =
            "setsid sh -c 'echo $$ > escaped; exec sleep 600' & sh -c 'echo $$ > below; exec sleep 600' &\r";
        typed.send(keys(start)).await.unwrap();
        typed
            .send(keys(
                "until [ -s escaped ] && [ -s below ]; do sleep 0.05; done; echo be''gun\r",
            ))
            .await
            .unwrap();
        until(&mut screen, "begun").await;
    }
    let pids = ["escaped", "below"].map(|name| fs::read_to_string(place.root.path().join(name)).unwrap());
    assert!(pids.iter().all(|pid| shell::is_alive(pid)));
    drop(console);
    let begun = Instant::now();
    while pids.iter().any(|pid| shell::is_alive(pid)) {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "something outlived its terminal"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
