import { changeOf } from "../changes";
import { useDeskIfAny } from "../desk";
import type { Call, Task } from "../view";
import { plain } from "../plain";
import { go } from "../route";
import { imagesOf, type Observation, screenshotOf } from "../wire";
import { t } from "../words";
import { answerOf } from "./describe";
import { DiffTable } from "../panels/DiffTable";
import { Images } from "./Images";
import { Output } from "./Output";
import { SpentNote } from "./SpentNote";
import { TaskList } from "./TaskList";

interface Props {
  call: Call;
  /** Whether the command stands above it already. */
  command?: "shown" | "left out";
}

/** Everything about a call. */
export function CallDetails({ call, command = "shown" }: Props) {
  const { action } = call.event;
  const observation = call.result?.type === "answer" ? call.result.observation : null;
  const change = observation && changeOf(observation);
  const images = imagesOf(observation?.content);
  const canAct = useDeskIfAny() !== null;
  const child = canAct ? childOf(observation) : null;
  const screenshot = observation && screenshotOf(observation);
  if (screenshot) images.push(screenshot);
  return (
    <div className="card-body">
      {call.event.reasoning_content && (
        <details>
          <summary>{t("Reasoning")}</summary>
          <Output id={`${call.id}/reasoning`} text={call.event.reasoning_content} />
        </details>
      )}
      {(command === "shown" || action?.kind !== "TerminalAction") && request(call)}
      {change && <DiffTable change={change} />}
      {action?.kind === "TaskTrackerAction" && Array.isArray(action["task_list"]) && (
        <TaskList tasks={action["task_list"] as Task[]} />
      )}
      {!change && call.result && <Output id={call.id} text={answerOf(call)} />}
      {child && (
        <button onClick={() => go(child)}>{t("Open its conversation")}</button>
      )}
      <Images urls={images} />
      {call.spent && <SpentNote spent={call.spent} />}
    </div>
  );
}

/** The conversation in which a sub-agent did it. */
function childOf(observation: Observation | null): string | null {
  const id = observation?.kind === "TaskObservation" ? observation["task_id"] : null;
  return typeof id === "string" && /^[0-9a-f-]{32,36}$/.test(id) ? id : null;
}

function request(call: Call) {
  const { action, tool_call: sent } = call.event;
  switch (action?.kind) {
    case "TerminalAction":
      return <pre className="command" tabIndex={0}>{plain(String(action["command"] ?? ""))}</pre>;
    case "ApplyPatchAction":
      return <pre className="output" tabIndex={0}>{plain(String(action["patch"] ?? ""))}</pre>;
    case "FileEditorAction":
      return call.result === null && <pre className="output" tabIndex={0}>{planned(action)}</pre>;
    case "ThinkAction":
      return <p>{plain(String(action["thought"] ?? ""))}</p>;
    case "TaskTrackerAction":
    case "GrepAction":
    case "GlobAction":
    case "ReadFileAction":
    case "EditAction":
    case "WriteFileAction":
      return null;
    default:
      return <pre className="output" tabIndex={0}>{plain(sent?.arguments ?? "")}</pre>;
  }
}

/** What an edit that has not been made yet would do. */
function planned(action: Record<string, unknown>): string {
  const text = (name: string) => (typeof action[name] === "string" ? plain(action[name]) : "");
  const marked = (mark: string, lines: string) => (lines ? lines.replace(/^/gm, `${mark} `) : "");
  return [marked("-", text("old_str")), marked("+", text("new_str")), marked("+", text("file_text"))]
    .filter(Boolean)
    .join("\n");
}
