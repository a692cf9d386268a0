//! The tools of a workspace, from all the crates that have some.

use std::sync::Arc;

use deft_lsp::{Checked, Code, Servers};
use deft_mcp::{Limits, LocalServers};
use deft_tools::{TerminalOptions, ToolContext, ToolError, Toolbox};

/// The tools an executor has.
pub(crate) fn toolbox(context: &ToolContext, options: TerminalOptions) -> Result<Toolbox, ToolError> {
    let language_servers = Servers::new(context);
    let tools = Toolbox::with_terminal(context.clone(), options)?;
    let tools = deft_browse::tools(context.clone())
        .into_iter()
        .fold(tools, Toolbox::with)
        .wrapped(|tool| Arc::new(Checked::new(tool, language_servers.clone())))
        .with(Arc::new(Code::new(language_servers)))
        .with_servers(Arc::new(LocalServers::new(context.clone(), Limits::default())));
    Ok(tools)
}
