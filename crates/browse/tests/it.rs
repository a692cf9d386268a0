//! The browser tools with a real Chromium against a server of our own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod it {
    mod filming;
    mod hand;
    mod hostile;
    mod pages;
    mod site;
}
