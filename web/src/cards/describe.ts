// The point of a call in one line, for its card.

import { changeOf, diffOf } from "../changes";
import type { Call } from "../fold";
import { plain } from "../plain";
import { textOf } from "../wire";

export interface Description {
  /** What kind of thing it is, in a word. */
  label: string;
  title: string;
  /** How it came out. */
  outcome: string;
  tone: "neutral" | "good" | "bad" | "busy";
}

export function describe(call: Call): Description {
  const { label, title } = subject(call);
  return { label, title: firstLine(title), ...outcome(call) };
}

function field(call: Call, ...names: string[]): string {
  for (const name of names) {
    const value = call.event.action?.[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return "";
}

function subject(call: Call): { label: string; title: string } {
  const { tool_name: tool, summary } = call.event;
  const command = field(call, "command");
  const path = field(call, "path", "file_path", "dir_path");
  switch (call.event.action?.kind) {
    case "TerminalAction":
      return { label: "Command", title: command || summary || "look at the terminal" };
    case "FileEditorAction":
    case "PlanningFileEditorAction":
      return { label: EDITS[command] ?? "Edit", title: path };
    case "EditAction":
      return { label: "Edit", title: path };
    case "WriteFileAction":
      return { label: "Write", title: path };
    case "ReadFileAction":
    case "ListDirectoryAction":
      return { label: "Read", title: path };
    case "ApplyPatchAction":
      return { label: "Patch", title: summary ?? "several files" };
    case "GrepAction":
    case "GlobAction":
      return { label: "Search", title: field(call, "pattern") };
    case "TaskTrackerAction":
      return { label: "Tasks", title: command === "plan" ? "Plan" : "Look at the plan" };
    case "ThinkAction":
      return { label: "Thought", title: field(call, "thought") };
    case "FinishAction":
      return { label: "Finished", title: summary ?? "" };
    default:
      return { label: tool, title: field(call, "url", "query", "task", "prompt") || summary || "" };
  }
}

const EDITS: Record<string, string> = {
  view: "Read",
  create: "Write",
  str_replace: "Edit",
  insert: "Edit",
  undo_edit: "Undo",
};

function outcome(call: Call): Pick<Description, "outcome" | "tone"> {
  const { result } = call;
  if (result === null) return { outcome: "open", tone: "busy" };
  if (result.type === "error") return { outcome: "failed", tone: "bad" };
  if (result.type === "rejected") return { outcome: "rejected", tone: "bad" };
  const { observation } = result;
  if (observation.kind === "TerminalObservation") {
    const code = observation["exit_code"];
    if (observation["timeout"] === true) return { outcome: "still running", tone: "busy" };
    if (typeof code === "number" && code >= 0) return { outcome: `exit ${code}`, tone: code === 0 ? "good" : "bad" };
  }
  if (observation.is_error) return { outcome: "failed", tone: "bad" };
  const change = changeOf(observation);
  const diff = change && diffOf(change);
  if (diff) return { outcome: `+${diff.added} −${diff.removed}`, tone: "good" };
  const hits = observation["matches"] ?? observation["files"];
  if (Array.isArray(hits)) return { outcome: `${hits.length} ${hits.length === 1 ? "hit" : "hits"}`, tone: "neutral" };
  return { outcome: "", tone: "neutral" };
}

function firstLine(text: string): string {
  return plain(text).trim().split("\n", 1)[0] ?? "";
}

/** What a call answered, as text. */
export function answerOf(call: Call): string {
  const { result } = call;
  if (result === null) return "";
  if (result.type === "error") return result.text;
  if (result.type === "rejected") return result.reason;
  return textOf(result.observation.content);
}
