//! The tools as the executor uses them: through a toolbox, with a real shell and real files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod it {
    mod bench;
    mod checkpoint;
    mod checkpoint_crash;
    mod checkpoint_property;
    mod commands;
    mod editor;
    mod load;
    mod output;
    mod patches;
    mod processes;
    mod prompts;
    mod properties;
    mod recorded;
    mod recorded_files;
    mod recorded_search;
    mod running;
    mod screen;
    mod search;
    mod secrets;
    mod shell;
    mod shells;
    mod small_tools;
}
