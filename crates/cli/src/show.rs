//! `deft show`: every event of a conversation.

use std::io::Write;

use deft_types::Seq;

use crate::args::Show;
use crate::compose;
use crate::exit::Exit;
use crate::list::was_left;
use crate::output::{event_line, json_line};
use crate::settings::{Settings, Surroundings};

/// Events read at once.
const PAGE: usize = 500;

pub(crate) async fn show(args: &Show) -> anyhow::Result<Exit> {
    let surroundings = Surroundings::of_this_process()?;
    let settings = Settings::load(&args.flags, &surroundings, &surroundings.current_dir)?;
    let store = compose::open_store(&settings)?;
    let record = compose::find(store.as_ref(), &args.id).await?;
    let mut out = anstream::AutoStream::auto(std::io::stdout()).lock();
    let mut from = Seq::FIRST;
    loop {
        let page = store.read(record.id, from, PAGE).await?;
        let Some((last, _)) = page.last() else { break };
        from = last.next();
        for (seq, event) in &page {
            if args.json {
                writeln!(out, "{}", json_line(event)?)?;
            } else {
                writeln!(out, "{}", event_line(*seq, event))?;
            }
        }
    }
    if was_left(store.as_ref(), &record).await? {
        let short = &record.id.hex()[..8];
        anstream::eprintln!(
            "deft: note: its process has ended and left it as it was; go on with: deft run --resume {short}"
        );
    }
    Ok(Exit::Finished)
}
