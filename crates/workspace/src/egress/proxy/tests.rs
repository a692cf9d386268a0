//! Asking for hosts that no rule names, over the real sockets.

use std::path::PathBuf;

use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::*;
use crate::egress::{AskedHost, HostNews, HostQuestions};

const LONG: Duration = Duration::from_secs(60);

struct Stand {
    directory: TempDir,
    proxy: JoinHandle<()>,
}

impl Stand {
    fn new(patience: Duration) -> Self {
        Self::with_rules(&[], patience)
    }

    fn with_rules(rules: &[HostRule], patience: Duration) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let mut egress = Egress::new(rules, path("record"));
        egress.patience = patience;
        let proxy = egress.bind(&path("proxy"), &path("asks")).unwrap();
        Self {
            directory,
            proxy: tokio::spawn(proxy.serve()),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    async fn attend(&self) -> HostQuestions {
        HostQuestions::connect(&self.path("asks")).await.unwrap()
    }

    async fn begin(&self, target: &str) -> UnixStream {
        let mut client = UnixStream::connect(self.path("proxy")).await.unwrap();
        let head = format!("CONNECT {target} HTTP/1.1\r\n\r\n");
        client.write_all(head.as_bytes()).await.unwrap();
        client
    }

    async fn request(&self, target: &str) -> String {
        answer_of(self.begin(target).await).await
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        self.proxy.abort();
    }
}

async fn answer_of(mut client: UnixStream) -> String {
    let mut answer = String::new();
    timeout(LONG, client.read_to_string(&mut answer))
        .await
        .unwrap()
        .unwrap();
    answer
}

async fn news(attendant: &mut HostQuestions) -> HostNews {
    timeout(LONG, attendant.next()).await.unwrap().unwrap()
}

fn asked(host: &str) -> AskedHost {
    AskedHost {
        host: host.to_owned(),
        port: 443,
    }
}

#[tokio::test]
async fn where_nobody_answers_a_host_is_refused_at_once_with_the_setting_that_allows_it() {
    let stand = Stand::new(LONG);
    let refused = stand.request("unknown.example:443").await;
    assert!(
        refused.contains("403") && refused.contains("sandbox_allow"),
        "{refused}"
    );
}

#[tokio::test]
async fn requests_for_one_host_wait_for_one_answer() {
    let stand = Stand::new(LONG);
    let mut attendant = stand.attend().await;
    while stand.request("first.internal:443").await.is_empty() {} // the proxy has seen the attendant by now
    let first = stand.begin("asked.example:443").await;
    assert_eq!(
        news(&mut attendant).await,
        HostNews::Asked(asked("asked.example"))
    );
    let second = stand.begin("ASKED.example:443").await;
    attendant
        .answer(asked("never.example"), HostVerdict::Allow)
        .await
        .unwrap();
    attendant
        .answer(asked("asked.example"), HostVerdict::Deny)
        .await
        .unwrap();
    let refused = answer_of(first).await;
    assert!(
        refused.contains("The user has refused asked.example:443"),
        "{refused}"
    );
    // The second came before the answer, or is asked for again.
    let mut second = tokio::spawn(answer_of(second));
    let refused = tokio::select! {
        refused = &mut second => refused.unwrap(),
        again = news(&mut attendant) => {
            assert_eq!(again, HostNews::Asked(asked("asked.example")));
            attendant.answer(asked("asked.example"), HostVerdict::Deny).await.unwrap();
            second.await.unwrap()
        }
    };
    assert!(refused.contains("The user has refused"), "{refused}");
    // What is allowed goes on to be looked up.
    let allowed = stand.begin("asked.example:443").await;
    assert_eq!(
        news(&mut attendant).await,
        HostNews::Asked(asked("asked.example"))
    );
    attendant
        .answer(asked("asked.example"), HostVerdict::Allow)
        .await
        .unwrap();
    let allowed = answer_of(allowed).await;
    assert!(allowed.contains("502"), "{allowed}");
}

#[tokio::test]
async fn nobody_waits_for_ever_and_private_addresses_are_not_asked_for() {
    let stand = Stand::new(Duration::from_millis(200));
    let mut attendant = stand.attend().await;
    for private in [
        "127.0.0.1:443",
        "169.254.169.254:80",
        "metadata.google.internal:80",
        "[::1]:80",
    ] {
        let refused = stand.request(private).await;
        assert!(refused.contains("403"), "{private}: {refused}");
    }
    let refused = stand.request("slow.example:443").await;
    assert!(refused.contains("sandbox_allow"), "{refused}");
    assert_eq!(news(&mut attendant).await, HostNews::Asked(asked("slow.example")));
    assert_eq!(
        news(&mut attendant).await,
        HostNews::Expired(asked("slow.example"))
    );
}

#[tokio::test]
async fn a_name_that_is_allowed_does_not_lead_to_a_private_address() {
    let service = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = format!("localhost:{}", service.local_addr().unwrap().port());
    let stand = Stand::with_rules(&[target.parse().unwrap()], LONG);
    let refused = stand.request(&target).await;
    assert!(
        refused.contains("403") && refused.contains("private network"),
        "{refused}"
    );
    let reached = timeout(Duration::from_millis(100), service.accept()).await;
    assert!(reached.is_err(), "it was reached all the same");
}

#[tokio::test]
async fn a_question_is_withdrawn_when_the_program_or_whoever_answers_goes() {
    let stand = Stand::new(LONG);
    let mut attendant = stand.attend().await;
    stand.request("first.internal:443").await;
    let client = stand.begin("gone.example:443").await;
    assert_eq!(news(&mut attendant).await, HostNews::Asked(asked("gone.example")));
    drop(client);
    assert_eq!(
        news(&mut attendant).await,
        HostNews::Withdrawn(asked("gone.example"))
    );
    let client = stand.begin("left.example:443").await;
    assert_eq!(news(&mut attendant).await, HostNews::Asked(asked("left.example")));
    drop(attendant);
    let refused = answer_of(client).await;
    assert!(refused.contains("sandbox_allow"), "{refused}");
}
