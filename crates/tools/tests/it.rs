//! The tools as the executor uses them: through a toolbox, with a real shell and real files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod it {
    mod bench;
    mod commands;
    mod editor;
    mod load;
    mod output;
    mod patches;
    mod processes;
    mod properties;
    mod recorded;
    mod recorded_files;
    mod recorded_search;
    mod running;
    mod search;
    mod shell;
    mod small_tools;
}
