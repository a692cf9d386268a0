import { useQueries, useQuery } from "@tanstack/react-query";
import { api } from "../api";
import { TaskList } from "../cards/TaskList";
import { dollars, meterOf } from "../meter";
import { nameOf } from "../name";
import { StatusMark } from "../parts/StatusMark";
import { go } from "../route";
import { TASKS, useTold } from "../told";
import { tasksOf, type View } from "../view";
import { t } from "../words";

/** How often the sub-agents are looked at. */
const LOOK_EVERY_MS = 3_000;

/** The plan, and the agents that work on parts of it. */
export default function TasksPanel({ id, view }: { id: string; view: View }) {
  const told = useTold(id, TASKS, view.hasEarlier && view.tasks.length === 0);
  const tasks = view.tasks.length > 0 ? view.tasks : tasksOf(told.events.at(-1)?.observation);
  const info = useQuery({ queryKey: ["conversation", id], queryFn: () => api.get(id), refetchInterval: LOOK_EVERY_MS });
  const children = useQueries({
    queries: (info.data?.sub_conversation_ids ?? []).map((child) => ({
      queryKey: ["conversation", child],
      queryFn: () => api.get(child),
      refetchInterval: LOOK_EVERY_MS,
    })),
  });
  const done = tasks.filter((task) => task.status === "done").length;
  return (
    <>
      {told.problem && (
        <p role="alert" className="problem">
          {told.problem}
        </p>
      )}
      {tasks.length === 0 ? (
        !told.problem && <p className="hint">{told.isLoading ? t("Loading…") : t("The agent has made no plan.")}</p>
      ) : (
        <>
          <p className="hint">{t("{done} of {all} done", { done, all: tasks.length })}</p>
          <TaskList tasks={tasks} />
        </>
      )}
      {children.length > 0 && <h2>{t("Sub-agents")}</h2>}
      <ul className="entries">
        {children.map(({ data }) =>
          data ? (
            <li key={data.id}>
              <button onClick={() => go(data.id)}>
                <span className="entry-title">{nameOf(data)}</span>
                <StatusMark status={data.execution_status} />
                <span className="hint">{dollars(meterOf(data.stats))}</span>
              </button>
            </li>
          ) : null,
        )}
      </ul>
    </>
  );
}
