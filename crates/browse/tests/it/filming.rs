//! What people see who watch the browser.

use std::time::Duration;

use deft_browse::BrowserOptions;
use deft_tools::LiveView;

use super::hand::Hand;
use super::site::{Site, html};

/// Far longer than anything takes.
const LIMIT: Duration = Duration::from_secs(60);

#[tokio::test]
async fn whoever_watches_sees_the_page_as_it_changes_and_its_end() {
    let live_view = LiveView::default();
    let options = BrowserOptions {
        action_limit: LIMIT,
        live_view: live_view.clone(),
        ..BrowserOptions::default()
    };
    let Some(hand) = Hand::with(options) else { return };
    let site = Site::new(|path| match path {
        "/moving" => html(
            "<title>Moving</title><body><script>let n = 0;
             setInterval(() => { document.body.style.background = `hsl(${n += 40} 90% 50%)` }, 100)</script>",
        ),
        _ => html("<title>Still</title><h1>Still</h1>"),
    })
    .await;
    hand.open(&site.url("/moving")).await;
    let mut watching = live_view.look();
    let mut seen = Vec::new();
    let several = async {
        while seen.len() < 3 {
            watching.changed().await.unwrap();
            let picture = watching.borrow_and_update().clone().unwrap();
            assert!(picture.starts_with(&[0xff, 0xd8]), "it is a JPEG");
            if !seen.contains(&picture) {
                seen.push(picture);
            }
        }
    };
    tokio::time::timeout(LIMIT, several).await.unwrap();
    drop(watching);
    live_view.unwatched().await;

    // Whoever comes later sees at once what is there, though nothing moves.
    hand.open(&site.url("/still")).await;
    live_view.show(None);
    let mut watching = live_view.look();
    let there = watching.wait_for(Option::is_some);
    tokio::time::timeout(LIMIT, there).await.unwrap().unwrap();
    hand.close().await;
    let gone = watching.wait_for(Option::is_none);
    tokio::time::timeout(LIMIT, gone).await.unwrap().unwrap();
}
