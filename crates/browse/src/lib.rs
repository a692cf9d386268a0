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

use deft_tools::{LiveView, Tool, ToolContext};

pub use browser::{BrowserOptions, browser_tools};
pub use fetch::{Fetch, FetchOptions};
pub use gate::Addresses;

/// What the tools of a workspace reach.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reachable {
    /// The addresses, for all tools; none: to each what is usual for it.
    pub addresses: Option<Addresses>,
    /// The proxy through which other machines are reached, where that is the only way, as in a sandbox.
    pub way_out: Option<SocketAddr>,
}

/// All tools of this crate, always in the same order. What the browser shows can be watched.
pub fn tools(context: ToolContext, reachable: Reachable, live_view: LiveView) -> Vec<Arc<dyn Tool>> {
    let Reachable { addresses, way_out } = reachable;
    let fetch = FetchOptions::default();
    let fetch = FetchOptions {
        addresses: addresses.unwrap_or(fetch.addresses),
        way_out,
        ..fetch
    };
    let browser = BrowserOptions::default();
    let browser = BrowserOptions {
        addresses: addresses.unwrap_or(browser.addresses),
        way_out,
        live_view,
        ..browser
    };
    let mut tools: Vec<Arc<dyn Tool>> = vec![Arc::new(Fetch::new(&context, fetch))];
    tools.extend(browser_tools(context, browser));
    tools
}
