//! Questions on the side to an agent that is a program of its own.
//!
//! Its session cannot be asked without becoming another one. So a second copy of the program is started in the workspace; it is
//! told what was said, answers, and ends.

use std::time::{Duration, Instant};

use deft_acp::{Choice, Incoming, Update, Usage as AgentUsage};
use deft_executor::Client;
use deft_llm::{FinishReason, ModelProfile, Reply, Usage};
use deft_tools::{SecretSet, Secrets};
use deft_types::{Money, Tokens};
use serde_json::json;
use tokio::time::sleep;
use uuid::Uuid;

use crate::external::ExternalAgent;

/// What stands before a question.
const ASIDE: &str =
    "Answer the following question from what you know, briefly. Change nothing, and go on with no task.";
/// The longest answer, in bytes.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// What it takes to ask.
pub(crate) struct ExternalAside {
    pub(crate) agent: ExternalAgent,
    pub(crate) client: Client,
    pub(crate) directory: String,
    pub(crate) secrets: SecretSet,
    /// What was said until now.
    pub(crate) told: Option<String>,
}

impl ExternalAside {
    /// What it answers and which model that was. The sentence of a failure says why not.
    pub(crate) async fn ask(self, question: &str) -> Result<(ModelProfile, Reply), String> {
        let began = Instant::now();
        let agent = ExternalAgent {
            resume: None,
            ..self.agent
        };
        let mut running = agent
            .begin(&self.client, self.directory, self.secrets.clone())
            .await?;
        let texts = self.told.into_iter().chain([format!("{ASIDE}\n\n{question}")]);
        let prompt = texts.map(|text| json!({"type": "text", "text": text})).collect();
        let mut prompting = running.session.prompt(prompt);
        let (mut text, mut cost) = (String::new(), None);
        let ended = loop {
            tokio::select! {
                biased; // what was told before the end is heard before it
                Some(told) = running.session.next() => match told {
                    Incoming::Update(Update::Text(piece)) if text.len() + piece.len() <= MAX_ANSWER_BYTES => {
                        text.push_str(&piece);
                    }
                    Incoming::Update(Update::Cost(dollars)) => cost = Some(dollars),
                    Incoming::Update(_) => {}
                    Incoming::Permission(permission) => {
                        running.session.answer(&permission, Choice::Cancel).await;
                    }
                },
                end = &mut prompting => break end,
                () = sleep(agent.silence_limit) => return Err("it said nothing for too long".to_owned()),
            }
        };
        let used = ended
            .map_err(|error| error.to_string())?
            .usage
            .unwrap_or_default();
        let hidden = Secrets::default();
        hidden.set(self.secrets);
        let text = hidden.mask().hide(text.trim()).into_owned(); // also where it came in pieces
        if text.is_empty() {
            return Err("it ended without a word".to_owned());
        }
        let model = running.session.about().models.current.clone();
        let profile = ModelProfile::unknown(model.unwrap_or_else(|| "acp-managed".to_owned()));
        Ok((profile, reply(text, used, cost, began.elapsed())))
    }
}

fn reply(text: String, used: AgentUsage, cost: Option<f64>, latency: Duration) -> Reply {
    let cost: Option<Money> = cost.and_then(|cost| format!("{cost:.6}").parse().ok());
    Reply {
        response_id: Uuid::new_v4().to_string(),
        text,
        reasoning: None,
        thinking_blocks: Vec::new(),
        reasoning_item: None,
        tool_calls: Vec::new(),
        usage: Usage {
            prompt: Tokens(used.input),
            completion: Tokens(used.output),
            cache_read: Tokens(used.cache_read),
            cache_write: Tokens(used.cache_write),
            reasoning: Tokens(used.thought),
            cost,
        },
        cost,
        prefix_change: None,
        finish: FinishReason::Stop,
        latency,
    }
}
