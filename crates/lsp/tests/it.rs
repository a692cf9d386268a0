//! Real language servers, and programs that only pretend to be one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod it {
    mod broken;
    mod packages;
    mod place;
    mod real;
}
