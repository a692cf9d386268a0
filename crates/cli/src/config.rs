//! `deft config`: the settings in force, and where each comes from.

use std::io::Write;

use crate::args::Listing;
use crate::exit::Exit;
use crate::settings::{Settings, Surroundings};

pub(crate) fn config(args: &Listing) -> anyhow::Result<Exit> {
    let surroundings = Surroundings::of_this_process()?;
    let settings = Settings::load(&args.flags, &surroundings, &surroundings.current_dir)?;
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{:#}", settings.to_json())?;
    } else {
        write!(out, "{}", settings.to_text())?;
    }
    Ok(Exit::Finished)
}
