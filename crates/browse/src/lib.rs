//! The tools that look at the web: `fetch` reads one address, the `browser_*` tools drive a real Chromium.
//!
//! What a page says is data that somebody else wrote: it goes to a model fenced off (`untrusted`), and nothing of it
//! chooses a path or an address unchecked. Both tools connect only to addresses that [`Addresses`] allows, looked at
//! after the name was resolved (`gate`), and do so through a proxy of ours (`proxy`), so that redirects, scripts and
//! sockets of a page are held to it too. This crate knows nothing of models, conversations or servers.
//!
//! Begin reading at [`tools`], [`Fetch`] and `browser.rs`.

mod browser;
mod excerpt;
mod fetch;
mod gate;
mod markdown;
mod proxy;
mod untrusted;
mod web_address;

use std::net::SocketAddr;
use std::sync::Arc;

use deft_tools::{Tool, ToolContext};

pub use browser::{BrowserOptions, browser_tools};
pub use fetch::{Fetch, FetchOptions};
pub use gate::Addresses;

/// All tools of this crate, set up as usual, always in the same order. In a sandbox there may be only one way out.
pub fn tools(context: ToolContext, way_out: Option<SocketAddr>) -> Vec<Arc<dyn Tool>> {
    let fetch = FetchOptions {
        way_out,
        ..FetchOptions::default()
    };
    let browser = BrowserOptions {
        way_out,
        ..BrowserOptions::default()
    };
    let mut tools: Vec<Arc<dyn Tool>> = vec![Arc::new(Fetch::new(&context, fetch))];
    tools.extend(browser_tools(context, browser));
    tools
}
