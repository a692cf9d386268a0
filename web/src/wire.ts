// What the server sends, as far as this app reads it. Nothing here is trusted: fields may be missing.

export type Status =
  | "idle"
  | "running"
  | "paused"
  | "waiting_for_confirmation"
  | "finished"
  | "error"
  | "stuck"
  | "deleting";

export type Risk = "UNKNOWN" | "LOW" | "MEDIUM" | "HIGH";

export type Content = { type: "text"; text: string } | { type: "image"; image_urls: string[] };

export type Fields = Record<string, unknown>;

export interface TokenUsage {
  prompt_tokens?: number;
  completion_tokens?: number;
  cache_read_tokens?: number;
  context_window?: number;
  per_turn_token?: number;
}

export interface Stats {
  usage_to_metrics?: Record<
    string,
    { accumulated_cost?: number; cost_unknown?: boolean; accumulated_token_usage?: TokenUsage | null }
  >;
}

interface Common {
  id: string;
  /** The event that this one follows; old logs do not say. */
  parent_id?: string;
  timestamp: string;
  source: "agent" | "user" | "environment" | "hook";
}

export interface ActionEvent extends Common {
  kind: "ActionEvent";
  thought?: Content[];
  reasoning_content?: string | null;
  action?: (Fields & { kind: string }) | null;
  tool_name: string;
  tool_call_id: string;
  tool_call?: { arguments?: string };
  security_risk?: Risk;
  summary?: string | null;
}

export type Observation = Fields & { kind: string; content?: Content[]; is_error?: boolean };

export interface Classification {
  kind: string;
  retryable: boolean;
  user_action?: "none" | "retry" | "settings";
}

export interface ToolDefinition {
  title?: string;
  name?: string;
  description?: string;
}

export type Event =
  | (Common & {
      kind: "SystemPromptEvent";
      system_prompt?: { text?: string };
      dynamic_context?: { text?: string } | null;
      tools?: ToolDefinition[];
    })
  | (Common & { kind: "MessageEvent"; llm_message: { role: string; content: Content[] } })
  | ActionEvent
  | (Common & { kind: "ObservationEvent"; action_id: string; tool_call_id: string; observation: Observation })
  | (Common & { kind: "AgentErrorEvent"; tool_call_id: string; error: string })
  | (Common & { kind: "UserRejectObservation"; action_id: string; tool_call_id: string; rejection_reason: string })
  | (Common & { kind: "ConversationStateUpdateEvent"; key: string; value?: unknown })
  | (Common & { kind: "ConversationErrorEvent"; code: string; detail: string; classification?: Classification | null })
  | (Common & { kind: "ServerErrorEvent"; code: string; detail: string })
  | (Common & { kind: "PauseEvent" | "InterruptEvent" })
  | (Common & { kind: "Condensation"; summary?: string | null })
  | (Common & { kind: "SecurityAnalysisEvent"; risks: Record<string, Risk>; details?: Fields });

export type Frame =
  | { type: "sync"; from_seq?: number; through_seq?: number }
  | { type: "durable"; seq: number; event: Event }
  | { type: "transient"; event: Event }
  | { type: "item_started"; item_id: string; attempt: number }
  | { type: "delta"; item_id: string; attempt: number; order: number; kind: "text" | "reasoning"; content: string }
  | { type: "item_aborted"; item_id: string; attempt: number; reason: string }
  | { type: "output"; action_id: string; content: string }
  | { type: "error"; code: string; detail: string };

export interface Conversation {
  id: string;
  title: string | null;
  execution_status: Status;
  workspace: { working_dir: string };
  created_at: string;
  updated_at: string;
  stats: Stats;
  tags: Record<string, string>;
  agent: { llm: { model: string } };
  parent_conversation_id?: string | null;
  sub_conversation_ids?: string[];
  forked_from_conversation_id?: string | null;
}

export interface Offer {
  model: string | null;
  models: string[];
  folder: string;
}

/** The text of a message or an answer. */
export function textOf(content: Content[] | undefined): string {
  return (content ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** Its images that carry their own data: others would be fetched from a place that somebody else chose. */
export function imagesOf(content: Content[] | undefined): string[] {
  const all = (content ?? []).flatMap((part) => (part.type === "image" ? part.image_urls : []));
  return all.filter((url) => /^data:image\/(png|jpeg|gif|webp);base64,/.test(url));
}

/** The picture of a page that an answer carries, as an address of its own data. */
export function screenshotOf(observation: Observation): string | null {
  const data = observation["screenshot_data"];
  return typeof data === "string" && /^[A-Za-z0-9+/=]+$/.test(data) ? `data:image/png;base64,${data}` : null;
}
