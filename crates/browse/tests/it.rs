//! The browser tools with a real Chromium against a server of our own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "it/hostile.rs"]
mod hostile;
#[path = "it/pages.rs"]
mod pages;
#[path = "it/site.rs"]
mod site;
