// The point of a call in one line, for its card.

import { changeOf, diffOf } from "../changes";
import { type Call, tasksOf } from "../view";
import { patchCounts, patchedFiles } from "../patch";
import { delegatesOf } from "../delegates";
import { visibleControls } from "../plain";
import { type Fields, textOf } from "../wire";
import { t } from "../words";

export interface Description {
  /** What kind of thing it is, in a word. */
  label: string;
  title: string;
  /** How it came out. */
  outcome: string;
  tone: "neutral" | "good" | "bad" | "busy";
  /** Lines that came and went, where it is about those. */
  counts?: { added: number; removed: number };
}

/** Files within `folder` are named as they are from there. */
export function describe(call: Call, folder = ""): Description {
  const { label, title } = subject(call, folder);
  return { label, title: firstLine(title), ...outcome(call) };
}

/** An argument of a call; those for tools that we have no form for stand one level deeper. */
function field(call: Call, ...names: string[]): string {
  const { action } = call.event;
  const data = (action?.["data"] ?? {}) as Fields;
  for (const name of names) {
    const value = action?.[name] ?? data[name];
    if (typeof value === "string" && value !== "") return value;
    if (typeof value === "number") return String(value);
  }
  return "";
}

/** The model's own words for a call; where it found none, the server has put the arguments there. */
function summaryOf({ event: { summary, tool_name: tool } }: Call): string {
  return !summary || summary.startsWith(`${tool}: {`) ? "" : summary;
}

function subject(call: Call, folder: string): { label: string; title: string } {
  const { tool_name: tool } = call.event;
  const summary = summaryOf(call);
  const command = field(call, "command");
  const path = within(folder, field(call, "path", "file_path", "dir_path")).replaceAll("\n", "␊");
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
      return { label: t("Patch"), title: patchedFiles(field(call, "patch")).join(", ") || summary };
    case "GrepAction":
    case "GlobAction": {
      // Where it looks may matter more than what for.
      const where = [field(call, "include"), path === folder ? "" : path];
      return { label: t("Search"), title: [field(call, "pattern").replaceAll("\n", "␊"), ...where].filter(Boolean).join(" ") };
    }
    case "TaskTrackerAction":
      return { label: t("Tasks"), title: command === "plan" ? t("Plan") : t("Look at the plan") };
    case "ThinkAction":
      return { label: t("Thought"), title: field(call, "thought") };
    case "TaskAction":
      return { label: t("Sub-agent"), title: field(call, "description", "prompt") || summary };
    case "DelegateAction":
      return { label: t("Sub-agents"), title: delegatesOf(call.event.action).map(({ name }) => name).join(", ") || summary };
    case "FinishAction":
      return { label: t("Finished"), title: summary };
    case "InvokeSkillAction":
      return { label: t("Skill"), title: field(call, "name") };
    case "SwitchLLMAction":
      return { label: t("Model"), title: field(call, "profile_name") };
    case "AskOracleAction":
      return { label: t("Advice"), title: field(call, "question") };
    case "VisionInspectAction":
      return { label: t("Look at a picture"), title: field(call, "question") };
  }
  if (tool.startsWith("browser_")) return { label: t("Browser"), title: browsing(call, tool) };
  if (tool === "fetch") return { label: t("Fetch"), title: field(call, "url") };
  if (tool === "code") return { label: t("Code"), title: [command, field(call, "symbol", "query"), path].filter(Boolean).join(" ") };
  return { label: visibleControls(tool), title: summary || field(call, "url", "query", "path", "name", "task", "prompt") };
}

/** What is done in the browser. */
function browsing(call: Call, tool: string): string {
  const verb = tool.slice("browser_".length).replaceAll("_", " ");
  switch (tool) {
    case "browser_navigate":
      return field(call, "url");
    case "browser_click":
      return t("click element {n}", { n: field(call, "index") });
    case "browser_type":
      return t("type “{text}”", { text: field(call, "text") });
    default:
      return [verb, field(call, "direction", "tab_id")].filter(Boolean).join(" ");
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

function outcome(call: Call): Omit<Description, "label" | "title"> {
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
  const counts = diff ?? (observation.kind === "ApplyPatchObservation" && patchCounts(field(call, "patch")));
  if (counts) return { outcome: `+${counts.added} −${counts.removed}`, tone: "good", counts };
  const tasks = tasksOf(observation);
  if (tasks.length > 0) {
    const done = tasks.filter(({ status }) => status === "done").length;
    return { outcome: t("{done} of {all} done", { done, all: tasks.length }), tone: "neutral" };
  }
  const found = observation["matches"] ?? observation["files"];
  if (Array.isArray(found)) return { outcome: found.length === 1 ? t("1 file") : t("{n} files", { n: found.length }), tone: "neutral" };
  return { outcome: "", tone: "neutral" };
}

function firstLine(text: string): string {
  return visibleControls(text).trim().split("\n", 1)[0] ?? "";
}

/** What a call answered, as text. */
export function answerOf(call: Call): string {
  const { result } = call;
  if (result === null) return "";
  if (result.type === "error") return result.text;
  if (result.type === "rejected") return result.reason;
  return [textOf(result.observation.content), result.added?.trim()].filter(Boolean).join("\n");
}
