//! Ports of the workspace through the executor's connection.

use std::time::Duration;

use deft_executor::{Client, PortStream, RequestError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{Place, call};

/// A program of the workspace that listens, started by its terminal; gives the port.
async fn serve(place: &Place, client: &Client, python: &str) -> u16 {
    let program = format!(
        "cat > serve.py <<'END'\nimport socket\ns = socket.create_server(('127.0.0.1', 0))\n\
         open('port.part', 'w').write(str(s.getsockname()[1]))\nimport os\nos.rename('port.part', 'port')\n{python}\nEND\n\
         nohup python3 serve.py > log 2>&1 &"
    );
    call(client, "serve", &program).await.end().await;
    place.wait_for_file("port").await;
    place.file("port").parse().unwrap()
}

async fn talk(stream: &mut PortStream, said: &[u8]) -> Vec<u8> {
    stream.write_all(said).await.unwrap();
    let mut heard = vec![0; said.len()];
    stream.read_exact(&mut heard).await.unwrap();
    heard
}

#[tokio::test]
async fn programs_that_were_started_here_are_listed_and_others_are_not() {
    let place = Place::new();
    let client = place.connect().await;
    let ours = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = serve(&place, &client, "s.accept()").await;
    let listed = client.ports().await.unwrap();
    let found = listed.iter().find(|listed| listed.port == port).unwrap();
    assert!(found.process.starts_with("python3"), "{found:?}");
    let ours = ours.local_addr().unwrap().port();
    assert!(
        listed.iter().all(|listed| listed.port != ours),
        "what the executor itself listens on is not served by the workspace"
    );
    place.executor.close().await;
}

#[tokio::test]
async fn bytes_go_both_ways_over_several_streams_and_an_end_is_told_apart_from_the_other_direction() {
    let place = Place::new();
    let client = place.connect().await;
    let echo = "import threading\n\
        def echo(c):\n    while data := c.recv(65536): c.sendall(data)\n    c.sendall(b'bye')\n    c.close()\n\
        while True: threading.Thread(target=echo, args=(s.accept()[0],)).start()";
    let port = serve(&place, &client, echo).await;
    let mut first = client.connect_port(port).await.unwrap();
    let mut second = client.connect_port(port).await.unwrap();
    assert_eq!(talk(&mut first, b"one").await, b"one");
    assert_eq!(talk(&mut second, b"two").await, b"two");
    // More than fits into any window, while somebody reads: nothing is lost or mixed up.
    let much: Vec<u8> = (0..8_000_000_u32).map(|n| (n % 251) as u8).collect();
    let (mut reader, mut writer) = tokio::io::split(second);
    let (sent, heard) = tokio::join!(
        async {
            writer.write_all(&much).await.unwrap();
            writer.shutdown().await
        },
        async {
            let mut heard = Vec::new();
            reader.read_to_end(&mut heard).await.unwrap();
            heard
        }
    );
    sent.unwrap();
    assert!(
        heard.strip_suffix(b"bye").unwrap() == much,
        "the last words come after our end"
    );
    assert_eq!(talk(&mut first, b"still here").await, b"still here");
    place.executor.close().await;
}

#[tokio::test]
async fn whoever_does_not_read_holds_up_only_themselves_and_closing_reaches_the_program() {
    let place = Place::new();
    let client = place.connect().await;
    let flood = "import threading\n\
        def flood(c):\n    sent = 0\n    try:\n        while sent < 200_000_000: sent += c.send(b'x' * 65536)\n    \
        except OSError: pass\n    open('stopped', 'w').write(str(sent))\n\
        while True: threading.Thread(target=flood, args=(s.accept()[0],)).start()";
    let port = serve(&place, &client, flood).await;
    let mut idle = client.connect_port(port).await.unwrap();
    let mut first = [0; 1];
    idle.read_exact(&mut first).await.unwrap();
    let observation = super::terminal(call(&client, "2", "echo free").await.end().await);
    assert_eq!(deft_types::text_of(&observation.content), "free");
    drop(idle);
    tokio::time::timeout(Duration::from_secs(30), place.wait_for_file("stopped"))
        .await
        .unwrap();
    while place.file("stopped").is_empty() {
        tokio::task::yield_now().await;
    }
    let sent: u64 = place.file("stopped").parse().unwrap();
    assert!(
        sent < 50_000_000,
        "{sent} bytes were taken for somebody who read one"
    );
    place.executor.close().await;
}

#[tokio::test]
async fn a_port_that_nobody_serves_is_told() {
    let place = Place::new();
    let client = place.connect().await;
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let refused = client.connect_port(port).await.err();
    assert_eq!(refused, Some(RequestError::NothingListens { port }));
}
