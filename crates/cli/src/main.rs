//! The `deft` command.
#![allow(dead_code, unused_imports)] // until the commands use them

mod output;
mod settings;

fn main() {}
