//! `deft models test`: tries a model out, layer by layer.

use std::io::Write;

use deft_llm::check;

use crate::args::ModelTest;
use crate::compose;
use crate::exit::{Exit, UsageError};
use crate::output::{Style, finding_line};
use crate::settings::{Settings, Surroundings};

pub(crate) async fn test(args: ModelTest) -> anyhow::Result<Exit> {
    let surroundings = Surroundings::of_this_process()?;
    let settings = Settings::load(&args.flags, &surroundings, &surroundings.current_dir)?;
    let Some(name) = args.name.or_else(|| settings.model.value.clone()) else {
        let sentence = "which model? Write `deft models test PROVIDER/NAME`, or set LLM_MODEL";
        return Err(UsageError(sentence.to_owned()).into());
    };
    let (name, settings) = compose::reached(&name, &settings);
    let style = Style::coloured();
    let mut written = Ok(());
    let works = check(&name, &settings, |finding| {
        let mut out = anstream::AutoStream::auto(std::io::stdout()).lock();
        if written.is_ok() {
            written = write!(out, "{}", finding_line(finding, &style)).and_then(|()| out.flush());
        }
    })
    .await;
    written?;
    Ok(if works { Exit::Finished } else { Exit::Failed })
}
