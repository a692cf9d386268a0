import { useQuery } from "@tanstack/react-query";
import { api } from "../api";
import type { Delegate } from "../delegates";
import { useDeskIfAny } from "../desk";
import { visibleControls } from "../plain";
import type { Call } from "../view";
import { ChildLink } from "./ChildLink";
import { Orders } from "./Orders";

/** The agents of a call, what each is to do, and the way to its conversation. */
export function Delegates({ call, delegates }: { call: Call; delegates: Delegate[] }) {
  const desk = useDeskIfAny();
  return (
    <ul className="delegates">
      {delegates.map(({ name, task, kind }) => (
        <li key={name}>
          <strong>{visibleControls(name)}</strong> <span className="hint">{visibleControls(kind)}</span>
          {desk && <Way id={desk.id} call={call} name={name} />}
          {task && <Orders call={call} text={task} />}
        </li>
      ))}
    </ul>
  );
}

/** Each call asks anew, and once more when it is answered: an agent may have begun since. */
function Way({ id, call, name }: { id: string; call: Call; name: string }) {
  const tasks = useQuery({
    queryKey: ["delegates", id, call.id, call.result?.type ?? "open"],
    queryFn: () => api.delegates(id),
    placeholderData: (before) => before,
  });
  const found = tasks.data?.delegates.find((delegate) => delegate.name === name);
  return found && <ChildLink task={found.task_id} />;
}
