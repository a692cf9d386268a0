//! What reading a model's answer costs.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use deft_llm::{Delta, Model, ModelSettings, Request, complete};
use futures::StreamExt;
use futures::future::join_all;

use crate::machine::kibibytes;
use crate::report::{Figure, Goal, Section, Unit};
use crate::times::Times;

const DELTAS: usize = 20_000;
/// So long a piece makes a reply of a megabyte.
const PIECE: &str = "fifty letters that a model might just have written ";
const STREAMS: usize = 100;
const ROUNDS: usize = 9;

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
const END: &str =
    "data: {\"id\":\"c\",\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

pub(crate) fn measure(_: &Path) -> anyhow::Result<Section> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    // First, while there is no memory left over that could be used again.
    let memory = runtime.block_on(many_streams())?;
    let (whole, parsing) = runtime.block_on(long_reply())?;
    let (first, cancel) = runtime.block_on(first_and_last())?;
    Ok(Section {
        title: "Streams",
        method: "A server on loopback in a thread of its own answers as OpenAI's chat API does. A megabyte in 20,000 \
                 deltas is sent at once; from the request until the reply is put together, the median of nine. The \
                 first delta: from writing its bytes until it is handed on. Cancelling: from dropping the stream until \
                 the server sees the connection end. Memory: how much more this process holds while a hundred streams \
                 are open, each with its first delta read.",
        figures: vec![
            Figure::new(
                "a reply of 1 MB in 20,000 deltas, put together",
                whole,
                Unit::Milliseconds,
                Goal::AtMost(50.0),
            ),
            Figure::new(
                "one event of it",
                parsing * 1e3,
                Unit::Microseconds,
                Goal::AtMost(5.0),
            ),
            Figure::new(
                "first delta after its bytes, p50",
                first,
                Unit::Milliseconds,
                Goal::AtMost(1.0),
            ),
            Figure::new(
                "cancelled until the connection is closed, p50",
                cancel,
                Unit::Milliseconds,
                Goal::AtMost(100.0),
            ),
            Figure::new("100 open streams", memory, Unit::Megabytes, Goal::AtMost(20.0)),
        ],
    })
}

fn event(text: &str) -> String {
    format!("data: {{\"id\":\"c\",\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

/// A model whose server does this with each connection.
fn model(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> anyhow::Result<Arc<dyn Model>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let base_url = Some(format!("http://{}/v1", listener.local_addr()?));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            thread::spawn(move || serve(stream));
        }
    });
    let settings = ModelSettings {
        base_url,
        ..ModelSettings::default()
    };
    deft_llm::open("openai/gpt-4o", &settings).context("the model cannot be opened")
}

/// Reads a request to the end of its body, which here is its last brace.
fn read_request(stream: &mut TcpStream) {
    let mut buffer = [0; 8192];
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        if buffer[..length].ends_with(b"}") {
            return;
        }
    }
}

async fn long_reply() -> anyhow::Result<(f64, f64)> {
    let answer = Arc::new(format!("{HEAD}{}{END}", event(PIECE).repeat(DELTAS)));
    let model = model(move |mut stream| {
        read_request(&mut stream);
        let _ = stream.write_all(answer.as_bytes());
    })?;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let reply = complete(model.as_ref(), Request::default(), |_| ()).await?;
        times.push(start.elapsed());
        anyhow::ensure!(reply.text.len() == PIECE.len() * DELTAS, "the reply is not whole");
    }
    let whole = Times::new(times).percentile(50);
    #[allow(clippy::cast_precision_loss)] // a small number
    Ok((whole, whole / DELTAS as f64))
}

/// How long until the first delta is there, and until a dropped stream's connection is closed.
async fn first_and_last() -> anyhow::Result<(f64, f64)> {
    let (sent, was_sent) = mpsc::channel();
    let (closed, was_closed) = mpsc::channel();
    let model = model(move |mut stream| {
        read_request(&mut stream);
        let _ = stream.write_all(HEAD.as_bytes());
        thread::sleep(Duration::from_millis(20)); // so that the head is not what is measured
        let _ = sent.send(Instant::now());
        let _ = stream.write_all(event("hello").as_bytes());
        let _ = stream.read(&mut [0; 1]);
        let _ = closed.send(Instant::now());
    })?;
    let (mut first, mut cancel) = (Vec::new(), Vec::new());
    for _ in 0..50 {
        let mut deltas = model.stream(Request::default());
        while !matches!(deltas.next().await.context("no reply")??, Delta::Text(_)) {}
        first.push(was_sent.recv()?.elapsed());
        let dropped = Instant::now();
        drop(deltas);
        // The runtime closes the connection; give it the chance to.
        let end = loop {
            tokio::time::sleep(Duration::from_micros(100)).await;
            if let Ok(end) = was_closed.try_recv() {
                break end;
            }
        };
        cancel.push(end.duration_since(dropped));
    }
    Ok((
        Times::new(first).percentile(50),
        Times::new(cancel).percentile(50),
    ))
}

async fn many_streams() -> anyhow::Result<f64> {
    let model = model(|mut stream| {
        read_request(&mut stream);
        let _ = stream.write_all(format!("{HEAD}{}", event("hello")).as_bytes());
        let _ = stream.read(&mut [0; 1]);
    })?;
    let resident =
        || kibibytes("/proc/self/status", "VmRSS").context("the memory of this process cannot be read");
    let before = resident()?;
    let open = join_all((0..STREAMS).map(|_| async {
        let mut deltas = model.stream(Request::default());
        while let Some(Ok(delta)) = deltas.next().await {
            if matches!(delta, Delta::Text(_)) {
                break;
            }
        }
        deltas
    }))
    .await;
    let after = resident()?;
    anyhow::ensure!(open.len() == STREAMS, "not all streams are open");
    #[allow(clippy::cast_precision_loss)] // no machine has that much
    Ok(after.saturating_sub(before) as f64 * 1024.0 / 1e6)
}
