//! What a run does, as spans for whoever traces it: conversation → step → model call or tool call. They carry names,
//! ids and numbers, never what was said or written.

use deft_executor::{Outcome, Update};
use deft_llm::{FinishReason, ModelError, Reply};
use deft_types::{ConversationId, Status};
use tracing::field::Empty;
use tracing::{Span, info_span};

use crate::state::OpenCall;

/// What spans of a failure say, in the words of OpenTelemetry.
const ERROR: &str = "ERROR";

/// The spans that are open in a conversation.
pub(crate) struct Trace {
    conversation: ConversationId,
    run: Option<Span>,
    step: Option<Span>,
    steps: u64,
}

impl Trace {
    pub(crate) fn new(conversation: ConversationId) -> Self {
        Self {
            conversation,
            run: None,
            step: None,
            steps: 0,
        }
    }

    /// A run begins, within whatever asked for it.
    pub(crate) fn begin_run(&mut self, within: &Span, model: &str) {
        self.step = None;
        self.steps = 0;
        self.run = Some(info_span!(
            parent: within,
            "invoke_agent",
            otel.name = "invoke_agent deft",
            otel.status_code = Empty,
            "error.type" = Empty,
            gen_ai.operation.name = "invoke_agent",
            gen_ai.agent.name = "deft",
            gen_ai.conversation.id = %self.conversation,
            gen_ai.request.model = model,
            deft.status = Empty,
        ));
    }

    /// The next step begins with a model call.
    pub(crate) fn begin_step(&mut self) {
        self.steps += 1;
        let run = self.run.as_ref().and_then(Span::id);
        self.step = Some(info_span!(
            parent: run,
            "step",
            gen_ai.conversation.id = %self.conversation,
            deft.step = self.steps,
        ));
    }

    /// A model is asked. Drop the span when the reply is there.
    pub(crate) fn model_call(&self, model: &str) -> Span {
        info_span!(
            parent: self.innermost(),
            "chat",
            otel.name = format!("chat {model}"),
            otel.kind = "client",
            otel.status_code = Empty,
            "error.type" = Empty,
            gen_ai.operation.name = "chat",
            gen_ai.conversation.id = %self.conversation,
            gen_ai.provider.name = model.split_once('/').map(|(provider, _)| provider),
            gen_ai.request.model = model,
            gen_ai.response.id = Empty,
            gen_ai.response.finish_reasons = Empty,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            gen_ai.usage.cache_read.input_tokens = Empty,
            gen_ai.usage.cache_creation.input_tokens = Empty,
            deft.cost_usd = Empty,
        )
    }

    /// A tool is called. Drop the span when the result is there.
    pub(crate) fn tool_call(&self, call: &OpenCall) -> Span {
        let tool = &call.event.tool_name;
        info_span!(
            parent: self.innermost(),
            "execute_tool",
            otel.name = format!("execute_tool {tool}"),
            otel.status_code = Empty,
            "error.type" = Empty,
            gen_ai.operation.name = "execute_tool",
            gen_ai.conversation.id = %self.conversation,
            gen_ai.tool.name = tool,
            gen_ai.tool.call.id = %call.event.tool_call_id,
        )
    }

    /// The run has ended like that, if there was one.
    pub(crate) fn end_run(&mut self, status: Status) {
        self.step = None;
        let Some(run) = self.run.take() else {
            return;
        };
        run.record("deft.status", status.as_str());
        if matches!(status, Status::Error | Status::Stuck) {
            failed(&run, status.as_str());
        }
    }

    fn innermost(&self) -> Option<tracing::Id> {
        self.step.as_ref().or(self.run.as_ref()).and_then(Span::id)
    }
}

/// What came of a model call. An error's text may quote what was sent: only its kind is told.
pub(crate) fn replied(span: &Span, reply: Result<&Reply, &ModelError>) {
    let reply = match reply {
        Ok(reply) => reply,
        Err(error) => return failed(span, error.code()),
    };
    let finish = match reply.finish {
        FinishReason::Stop => "stop",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::Length => "length",
        FinishReason::ContentFilter => "content_filter",
    };
    span.record("gen_ai.response.id", reply.response_id.as_str());
    span.record("gen_ai.response.finish_reasons", finish);
    span.record("gen_ai.usage.input_tokens", reply.usage.prompt.0);
    span.record("gen_ai.usage.output_tokens", reply.usage.completion.0);
    span.record("gen_ai.usage.cache_read.input_tokens", reply.usage.cache_read.0);
    span.record(
        "gen_ai.usage.cache_creation.input_tokens",
        reply.usage.cache_write.0,
    );
    if let Some(cost) = reply.cost {
        span.record("deft.cost_usd", cost.as_dollars());
    }
}

/// What came of a tool call.
pub(crate) fn ended(span: &Span, update: &Update) {
    match update {
        Update::Ended(Outcome::Observed { observation }) if observation.is_error() => {
            failed(span, "tool_error");
        }
        Update::Ended(Outcome::Failed { .. }) => failed(span, "tool_failed"),
        Update::Lost | Update::Unknown => failed(span, "executor_lost"),
        Update::Ended(Outcome::Observed { .. }) | Update::Output(_) => {}
    }
}

fn failed(span: &Span, kind: &str) {
    span.record("otel.status_code", ERROR);
    span.record("error.type", kind);
}
