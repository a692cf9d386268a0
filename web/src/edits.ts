// Calls that wait, as a person may change them before they run.

import type { Call } from "./view";
import type { Fields } from "./wire";

/** The arguments of a call as the model wrote them. */
export function argumentsOf(call: Call): Fields {
  try {
    const read: unknown = JSON.parse(call.event.tool_call?.arguments ?? "{}");
    return typeof read === "object" && read !== null && !Array.isArray(read) ? (read as Fields) : {};
  } catch {
    return {};
  }
}

/** What is edited: the command alone, where that is the point of the call; else all arguments as JSON. */
export function editable(call: Call): string {
  const all = argumentsOf(call);
  return isCommand(call, all) ? String(all["command"]) : JSON.stringify(all, null, 2);
}

/** The arguments with what was edited. Fails with the reason where that is no JSON. */
export function edited(call: Call, text: string): Fields {
  const all = argumentsOf(call);
  return isCommand(call, all) ? { ...all, command: text } : (JSON.parse(text) as Fields);
}

const isCommand = (call: Call, all: Fields) =>
  call.event.action?.kind === "TerminalAction" && typeof all["command"] === "string";
