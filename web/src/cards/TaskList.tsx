import type { Task } from "../view";
import { t } from "../words";

const words = (): Record<Task["status"], string> => ({ todo: t("to do"), in_progress: t("under way"), done: t("done") });
const MARKS: Record<Task["status"], string> = { todo: "○", in_progress: "◐", done: "●" };

export function TaskList({ tasks }: { tasks: Task[] }) {
  return (
    <ul className="tasks">
      {tasks.map((task, index) => (
        <li key={index} className={`task-${task.status}`}>
          <span role="img" aria-label={words()[task.status] ?? task.status}>
            {MARKS[task.status] ?? "○"}
          </span>{" "}
          {task.title}
          {task.notes && <span className="hint"> {task.notes}</span>}
        </li>
      ))}
    </ul>
  );
}
