//! Processes that die. The child is this test binary, run again with `CHILD` set.

use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use deft_store::{Durability, Options, Owner, SqliteStore, Store, StoreError};
use deft_types::{ConversationId, Seq};

use super::sample::{Sample, create, message};

const CHILD: &str = "DEFT_STORE_TEST_CHILD";
const ROUNDS: u64 = 24;

/// A process that appends to a conversation until it is killed, and says when each append was acknowledged.
struct Appender {
    process: Child,
    output: BufReader<ChildStderr>,
}

impl Appender {
    fn start(path: &Path, id: ConversationId, round: u64) -> Self {
        let mut process = Command::new(env::current_exe().unwrap())
            .args(["--exact", "it::crash::child", "--nocapture"])
            .env(CHILD, format!("{round} {id} {}", path.display()))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stderr.take().unwrap());
        Self { process, output }
    }

    /// The next event that it was told is safe.
    fn acknowledged(&mut self) -> Option<String> {
        for line in self.output.by_ref().lines() {
            let line = line.unwrap();
            match line.strip_prefix("acknowledged ") {
                Some(id) => return Some(id.to_owned()),
                None => eprintln!("child: {line}"),
            }
        }
        None
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn child() {
    let Ok(task) = env::var(CHILD) else { return };
    let mut words = task.splitn(3, ' ');
    let round: u64 = words.next().unwrap().parse().unwrap();
    let id: ConversationId = words.next().unwrap().parse().unwrap();
    let durability = if round.is_multiple_of(2) {
        Durability::Process
    } else {
        Durability::Fsync
    };
    let store = SqliteStore::open(
        words.next().unwrap(),
        Options {
            durability,
            ..Options::default()
        },
    )
    .unwrap();
    let lease = store.acquire(id, &Owner::this_process()).await.unwrap();
    for n in 0.. {
        let event = format!("{round}-{n}");
        store.append(&lease, vec![message(&event)]).await.unwrap();
        // In one write: death must not cut it in two.
        std::io::stderr()
            .write_all(format!("acknowledged {event}\n").as_bytes())
            .unwrap();
    }
}

#[tokio::test]
async fn what_was_acknowledged_survives_kill_nine() {
    let sample = Sample::new();
    let id = create(&sample.store).await;
    // The file is closed in between, so that each round recovers it.
    let path = sample.path();
    let mut safe = Vec::new();
    for round in 0..ROUNDS {
        let mut child = Appender::start(&path, id, round);
        for _ in 0..=round % 7 {
            safe.push(child.acknowledged().expect("an acknowledgement"));
        }
        child.kill();
        while let Some(event) = child.acknowledged() {
            safe.push(event); // said before it died
        }
        let log = sample.another().read(id, Seq::FIRST, usize::MAX).await.unwrap();
        let seqs = log.iter().map(|(seq, _)| seq.0);
        assert!(seqs.eq(0..log.len() as u64), "dense");
        let ids: Vec<_> = log.into_iter().map(|(_, event)| event.id.0).collect();
        let unacknowledged = ids.len() - safe.len();
        let acknowledged: Vec<_> = ids.iter().filter(|id| safe.contains(id)).collect();
        assert!(
            acknowledged.into_iter().eq(&safe),
            "{round}: {ids:?} must hold {safe:?} in order"
        );
        assert!(
            unacknowledged as u64 <= round + 1,
            "at most one a round was under way"
        );
    }
}

#[tokio::test]
async fn a_lease_is_refused_while_its_process_lives_and_taken_over_at_once_when_it_is_killed() {
    let sample = Sample::new();
    let id = create(&sample.store).await;
    let mut child = Appender::start(&sample.path(), id, 0);
    child.acknowledged().expect("an acknowledgement");

    let owner = Owner::this_process();
    let refused = sample.store.acquire(id, &owner).await.unwrap_err();
    let StoreError::Busy { pid, .. } = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(pid, child.process.id());

    child.kill();
    let lease = sample.store.acquire(id, &owner).await.unwrap();
    sample.store.append(&lease, vec![message("ours")]).await.unwrap();
}
