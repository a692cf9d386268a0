import { changesOf } from "../changes";
import { delegatesOf } from "../delegates";
import { patchParts } from "../patch";
import { visibleControls } from "../plain";
import { plannedLines } from "../planned";
import type { Call } from "../view";
import { Delegates } from "./Delegates";
import { MarkedLines } from "./MarkedLines";
import { Orders } from "./Orders";

/** What a call asks for, as far as its answer does not show it better. */
export function CallRequest({ call }: { call: Call }) {
  const { action, tool_call: sent } = call.event;
  const text = (name: string) => String(action?.[name] ?? "");
  switch (action?.kind) {
    case "TerminalAction":
      return <pre className="command" tabIndex={0}>{visibleControls(text("command"))}</pre>;
    case "ApplyPatchAction":
      if (call.result?.type === "answer" && changesOf(call.result.observation).length > 0) return null;
      return patchParts(text("patch")).map((part, index) => <MarkedLines key={index} {...part} />);
    case "FileEditorAction":
    case "PlanningFileEditorAction":
    case "EditAction":
    case "WriteFileAction": {
      // The lines that differ tell more when it is done; where it was not done, this is all there is.
      const planned = call.result?.type === "answer" ? "" : plannedLines(action);
      return planned && <MarkedLines text={planned} path={text("path") || text("file_path")} />;
    }
    case "ThinkAction":
      return <p>{visibleControls(text("thought"))}</p>;
    case "TaskAction":
      return <Orders call={call} text={text("prompt")} />;
    case "DelegateAction":
      return <Delegates call={call} delegates={delegatesOf(action)} />;
    case "TaskTrackerAction":
    case "GrepAction":
    case "GlobAction":
    case "ReadFileAction":
    case "ListDirectoryAction":
      return null;
    default:
      return <pre className="output" tabIndex={0}>{visibleControls(sent?.arguments ?? "")}</pre>;
  }
}
