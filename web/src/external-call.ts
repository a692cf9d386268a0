// A tool call of an external agent, shown like one of our own agent's.

import type { Result } from "./view";
import type { ActionEvent, Event } from "./wire";

export type ExternalCall = Extract<Event, { kind: "ACPToolCallEvent" }>;

const MAX_SHOWN = 20_000;

export function actionOf(call: ExternalCall): ActionEvent {
  const input = (call.raw_input ?? {}) as Record<string, unknown>;
  const command = typeof input["command"] === "string" ? input["command"] : null;
  const isCommand = call.tool_kind === "execute" && command !== null;
  const action = isCommand ? { kind: "TerminalAction", command } : { kind: "MCPToolAction", data: input };
  return {
    ...call,
    kind: "ActionEvent",
    thought: [],
    action,
    tool_name: isCommand ? "terminal" : (call.tool_kind ?? "tool"),
    summary: call.title,
  } as ActionEvent;
}

/** What came of it; null while it runs. */
export function resultOf(call: ExternalCall): Result | null {
  if (call.status !== "completed" && call.status !== "failed") return null;
  const text = (partsOf(call.content) || plain(call.raw_output)).slice(0, MAX_SHOWN);
  if (call.status === "failed") return { type: "error", text };
  const observation = { kind: "MCPToolObservation", content: [{ type: "text" as const, text }], is_error: false, tool_name: "" };
  return { type: "answer", observation };
}

function partsOf(parts: unknown): string {
  if (!Array.isArray(parts)) return "";
  return parts.flatMap((part) => textOfPart(part as Record<string, unknown>)).join("\n");
}

function textOfPart(part: Record<string, unknown> | null): string[] {
  if (part?.["type"] === "diff") return [String(part["path"] ?? "")];
  const content = part?.["content"] as Record<string, unknown> | undefined;
  return typeof content?.["text"] === "string" ? [content["text"]] : [];
}

function plain(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
