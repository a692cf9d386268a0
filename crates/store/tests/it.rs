//! The store as its users see it: real files, real processes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod it {
    mod crash;
    mod documents;
    mod files;
    mod follow;
    mod index;
    mod leases;
    mod log;
    mod migration;
    mod sample;
    mod search;
}
