// The point of a call in one line, for its card.

import { changeOf, diffOf } from "../changes";
import type { Call } from "../view";
import { plain } from "../plain";
import { textOf } from "../wire";
import { t } from "../words";

export interface Description {
  /** What kind of thing it is, in a word. */
  label: string;
  title: string;
  /** How it came out. */
  outcome: string;
  tone: "neutral" | "good" | "bad" | "busy";
}

/** Files within `folder` are named as they are from there. */
export function describe(call: Call, folder = ""): Description {
  const { label, title } = subject(call, folder);
  return { label, title: firstLine(title), ...outcome(call) };
}

function field(call: Call, ...names: string[]): string {
  for (const name of names) {
    const value = call.event.action?.[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return "";
}

function subject(call: Call, folder: string): { label: string; title: string } {
  const { tool_name: tool, summary } = call.event;
  const command = field(call, "command");
  const path = within(folder, field(call, "path", "file_path", "dir_path"));
  switch (call.event.action?.kind) {
    case "TerminalAction":
      return { label: t("Command"), title: command || summary || t("look at the terminal") };
    case "FileEditorAction":
    case "PlanningFileEditorAction":
      return { label: edits()[command] ?? t("Edit"), title: path };
    case "EditAction":
      return { label: t("Edit"), title: path };
    case "WriteFileAction":
      return { label: t("Write"), title: path };
    case "ReadFileAction":
    case "ListDirectoryAction":
      return { label: t("Read"), title: path };
    case "ApplyPatchAction":
      return { label: t("Patch"), title: summary ?? t("several files") };
    case "GrepAction":
    case "GlobAction":
      return { label: t("Search"), title: field(call, "pattern") };
    case "TaskTrackerAction":
      return { label: t("Tasks"), title: command === "plan" ? t("Plan") : t("Look at the plan") };
    case "ThinkAction":
      return { label: t("Thought"), title: field(call, "thought") };
    case "TaskAction":
      return { label: t("Sub-agent"), title: field(call, "description", "prompt") || summary || "" };
    case "FinishAction":
      return { label: t("Finished"), title: summary ?? "" };
    default:
      return { label: tool, title: field(call, "url", "query", "task", "prompt") || summary || "" };
  }
}

const within = (folder: string, path: string) =>
  folder && path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path;

const edits = (): Record<string, string> => ({
  view: t("Read"),
  create: t("Write"),
  str_replace: t("Edit"),
  insert: t("Edit"),
  undo_edit: t("Undo"),
});

function outcome(call: Call): Pick<Description, "outcome" | "tone"> {
  const { result } = call;
  if (result === null) return { outcome: t("open"), tone: "busy" };
  if (result.type === "error") return { outcome: t("failed"), tone: "bad" };
  if (result.type === "rejected") return { outcome: t("rejected"), tone: "bad" };
  const { observation } = result;
  if (observation.kind === "TerminalObservation") {
    const code = observation["exit_code"];
    if (observation["timeout"] === true) return { outcome: t("still running"), tone: "busy" };
    if (typeof code === "number" && code >= 0) return { outcome: t("exit {code}", { code }), tone: code === 0 ? "good" : "bad" };
  }
  if (observation.is_error) return { outcome: t("failed"), tone: "bad" };
  const change = changeOf(observation);
  const diff = change && diffOf(change);
  if (diff) return { outcome: `+${diff.added} −${diff.removed}`, tone: "good" };
  const hits = observation["matches"] ?? observation["files"];
  if (Array.isArray(hits)) return { outcome: hits.length === 1 ? t("1 hit") : t("{n} hits", { n: hits.length }), tone: "neutral" };
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
