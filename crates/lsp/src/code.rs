//! The tool `code`: what a language server knows.

use std::path::Path;
use std::time::Duration;

use deft_tools::{Call, Files, Reach, Tool, ToolError, Touches, spec};
use deft_types::{Action, Content, MCPToolObservation, Observation, ToolSpec};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::Servers;
use crate::error::ServerError;
use crate::place;
use crate::shown;

const NAME: &str = "code";
/// How long a file's problems may take.
const PROBLEMS_LIMIT: Duration = Duration::from_secs(30);

/// Asks language servers.
pub struct Code {
    servers: Servers,
}

#[derive(Deserialize)]
struct Question {
    command: Command,
    path: Option<String>,
    line: Option<u64>,
    symbol: Option<String>,
    query: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Command {
    Definition,
    References,
    Hover,
    Symbols,
    Diagnostics,
}

impl Code {
    /// The tool over these servers, which it ends when it is closed.
    pub fn new(servers: Servers) -> Self {
        Self { servers }
    }

    async fn answer(&self, question: Question) -> Result<String, String> {
        let workspace = self.servers.workspace();
        let path = question
            .path
            .as_deref()
            .ok_or("Give `path`: a file of the language that the question is about.")?;
        let path = self.servers.resolve(Path::new(path));
        let server = self.servers.of(&path).await?;
        let text = server.look_at(&path).await?;
        let document = json!({"uri": place::uri(&path)});
        let said = |error: ServerError| format!("No answer: {error}.");
        let at = || {
            let symbol = question.symbol.as_deref().filter(|symbol| !symbol.is_empty());
            let symbol =
                symbol.ok_or("Give `symbol`: the name to look up, and `line` if it is not the first one.")?;
            let position = place::position(&text, question.line, symbol);
            let position = position.ok_or_else(|| match question.line {
                Some(line) => format!("`{symbol}` does not stand in line {line}; look at the file again."),
                None => format!("`{symbol}` does not stand in this file."),
            })?;
            Ok::<_, String>(json!({"textDocument": document, "position": position}))
        };
        Ok(match question.command {
            Command::Definition => {
                let found = server.ask("textDocument/definition", at()?).await.map_err(said)?;
                shown::list(&shown::locations(&found, workspace), "No definition was found.")
            }
            Command::References => {
                let mut params = at()?;
                params["context"] = json!({"includeDeclaration": true});
                let found = server
                    .ask("textDocument/references", params)
                    .await
                    .map_err(said)?;
                shown::list(&shown::locations(&found, workspace), "No reference was found.")
            }
            Command::Hover => {
                let found = server.ask("textDocument/hover", at()?).await.map_err(said)?;
                shown::hover(&found)
            }
            Command::Symbols => {
                let (method, params) = match &question.query {
                    Some(query) => ("workspace/symbol", json!({"query": query})),
                    None => ("textDocument/documentSymbol", json!({"textDocument": document})),
                };
                let found = server.ask(method, params).await.map_err(said)?;
                shown::list(&shown::symbols(&found, workspace), "No symbol was found.")
            }
            Command::Diagnostics => {
                let limit = Instant::now() + PROBLEMS_LIMIT;
                let found = server.problems(&path, &text, limit).await.map_err(said)?;
                let found =
                    found.ok_or("The language server has not looked at the file yet; try again later.")?;
                let name = shown::name(&path, workspace);
                let lines: Vec<_> = found.diagnostics.iter().map(|one| one.shown(&name)).collect();
                shown::list(&lines, "No problems.")
            }
        })
    }
}

impl Tool for Code {
    fn spec(&self) -> ToolSpec {
        let mut spec = spec(
            NAME,
            "MCPTool",
            Reach::Nothing,
            "Asks the language server of a file. `definition`, `references` and `hover` look up `symbol` as it stands in \
             `path` (in `line`, or where it stands first); `symbols` outlines a file, or finds `query` in its whole \
             project; `diagnostics` lists a file's errors and warnings. More exact than a text search.",
            &json!({
                "command": {
                    "type": "string",
                    "enum": ["definition", "references", "hover", "symbols", "diagnostics"],
                },
                "path": { "type": "string", "description": "A file; with `query`, any file of the project." },
                "line": { "type": "integer", "description": "From 1." },
                "symbol": { "type": "string", "description": "A name as it is written there." },
                "query": { "type": "string", "description": "A part of a name." },
            }),
            &["command", "path"],
        );
        // On the wire it is one of an MCP server: clients refuse kinds that they do not know.
        let original = json!({"name": NAME, "inputSchema": spec.parameters});
        "MCPToolDefinition".clone_into(&mut spec.definition.kind);
        spec.definition.extra.insert("mcp_tool".to_owned(), original);
        spec
    }

    fn touches(&self, _: &Action) -> Touches {
        Touches::Reads(Files::All)
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let Action::MCPTool(action) = &call.action else {
                return Err(ToolError::WrongAction {
                    tool: NAME,
                    kind: call.action.kind().to_owned(),
                });
            };
            let fields = if action.data.is_empty() {
                &action.extra
            } else {
                &action.data
            };
            let answer = match serde_json::from_value(Value::Object(fields.clone().into_iter().collect())) {
                Ok(question) => tokio::select! {
                    answer = self.answer(question) => answer,
                    () = call.cancel.cancelled() => return Err(ToolError::Cancelled),
                },
                Err(error) => Err(format!("The arguments do not fit: {error}.")),
            };
            let is_error = answer.is_err();
            let text = answer.unwrap_or_else(|problem| problem);
            Ok(MCPToolObservation {
                content: vec![Content::text(text)],
                is_error,
                tool_name: NAME.to_owned(),
                ..MCPToolObservation::default()
            }
            .into())
        }
        .boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.servers.close().boxed()
    }
}
