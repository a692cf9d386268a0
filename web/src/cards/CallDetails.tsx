import { Fragment } from "react";
import { changesOf } from "../changes";
import { useDeskIfAny } from "../desk";
import { visibleControls } from "../plain";
import type { Call, Task } from "../view";
import { imagesOf, screenshotOf } from "../wire";
import { answerOf } from "./describe";
import { DiffTable } from "../panels/DiffTable";
import { CallRequest } from "./CallRequest";
import { ChildLink } from "./ChildLink";
import { CriticNote } from "./CriticNote";
import { Images } from "./Images";
import { Output } from "./Output";
import { Reasoning } from "./Reasoning";
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
  const changes = observation ? changesOf(observation) : [];
  const images = imagesOf(observation?.content);
  const canAct = useDeskIfAny() !== null;
  const task = observation?.kind === "TaskObservation" ? observation["task_id"] : null;
  const screenshot = observation && screenshotOf(observation);
  if (screenshot) images.push(screenshot);
  const isPlan = action?.kind === "TaskTrackerAction" && Array.isArray(action["task_list"]);
  // That it was taken in says nothing.
  const isSilent = (isPlan || action?.kind === "ThinkAction") && observation && !observation.is_error;
  return (
    <div className="card-body">
      <Reasoning id={call.id} text={call.event.reasoning_content} />
      {(command === "shown" || action?.kind !== "TerminalAction") && <CallRequest call={call} />}
      {changes.map((change) => (
        <Fragment key={change.path}>
          {changes.length > 1 && <code>{visibleControls(change.path)}</code>}
          <DiffTable change={change} />
        </Fragment>
      ))}
      {isPlan && <TaskList tasks={action["task_list"] as Task[]} />}
      {(changes.length === 0 || action?.kind === "ApplyPatchAction") && call.result && !isSilent && <Output id={call.id} text={answerOf(call)} />}
      {canAct && typeof task === "string" && <ChildLink task={task} />}
      <Images urls={images} />
      <CriticNote critic={call.event.critic_result} />
      {call.spent && <SpentNote spent={call.spent} />}
    </div>
  );
}
