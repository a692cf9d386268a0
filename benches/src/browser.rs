//! What it costs to look at a page.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;
use deft_executor::{Client, Outcome, Update};
use deft_types::{Action, ActionId, BrowserNavigateAction, text_of};
use deft_workspace::Workspace;
use uuid::Uuid;

use crate::place::{Place, runtime};
use crate::report::{Figure, Goal, Section, Unit};
use crate::times::Times;

const PAGES: usize = 50;
/// What the server sends for every address.
const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 36\r\nConnection: close\r\n\r\n\
                      <title>Page</title><h1>A page</h1>\r\n";

pub(crate) fn measure(deft: &Path) -> anyhow::Result<Section> {
    let mut times = runtime()?.block_on(run(deft))?.into_iter();
    let first = times.next();
    let later = Times::new(times.collect());
    let figures = first.map(|first| {
        vec![
            Figure::new(
                "the first page in the browser, its start included",
                first.as_secs_f64() * 1e3,
                Unit::Milliseconds,
                Goal::AtMost(2000.0),
            ),
            Figure::new(
                "another page of this machine in the browser, p50",
                later.percentile(50),
                Unit::Milliseconds,
                Goal::AtMost(150.0),
            ),
        ]
    });
    Ok(Section {
        title: "Browser",
        method: "`browser_navigate` through a `deft executor` of its own process to small pages of a server on \
                 loopback, from sending the call until its result is there: the first one, which starts Chromium, \
                 and 50 more. Not measured on a machine without Chromium.",
        figures: figures.unwrap_or_default(),
    })
}

/// The time of each page; none without Chromium.
async fn run(deft: &Path) -> anyhow::Result<Vec<Duration>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || serve(&listener)); // ends with the process
    let place = Place::new()?;
    let client = Client::connect(place.workspace(deft).open().await?).await?;
    let mut times = Vec::with_capacity(PAGES + 1);
    for number in 0..=PAGES {
        match open(&client, address, number).await? {
            Some(time) => times.push(time),
            None => break,
        }
    }
    client.shutdown().await;
    Ok(times)
}

/// Each connection has its own thread: Chromium opens some ahead, on which it asks nothing for a while.
fn serve(listener: &TcpListener) {
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { return };
        std::thread::spawn(move || {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request); // whatever it asks for
            let _ = stream.write_all(ANSWER.as_bytes());
        });
    }
}

async fn open(client: &Client, address: SocketAddr, number: usize) -> anyhow::Result<Option<Duration>> {
    let id = ActionId::from(Uuid::new_v4());
    let action = Action::from(BrowserNavigateAction {
        url: format!("http://{address}/{number}"),
        ..BrowserNavigateAction::default()
    });
    let begun = Instant::now();
    let call = client.call(id.clone(), "browser_navigate".to_owned(), action);
    let end = call.await.end().await;
    let elapsed = begun.elapsed();
    client.acknowledge(id).await;
    match end {
        Update::Ended(Outcome::Observed { observation }) => {
            let text = text_of(&observation.content());
            match observation.is_error() {
                false => Ok(Some(elapsed)),
                true if text.contains("There is no Chromium") => Ok(None),
                true => bail!("a page was not opened: {text}"),
            }
        }
        end => bail!("a page was not opened: {end:?}"),
    }
}
