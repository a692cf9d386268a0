import { Circle, CircleCheck, CircleDot, type LucideIcon } from "lucide-react";
import { visibleControls } from "../plain";
import type { Task } from "../view";
import { t } from "../words";

const words = (): Record<Task["status"], string> => ({ todo: t("to do"), in_progress: t("under way"), done: t("done") });
const ICONS: Record<Task["status"], LucideIcon> = { todo: Circle, in_progress: CircleDot, done: CircleCheck };

export function TaskList({ tasks }: { tasks: Task[] }) {
  return (
    <ul className="tasks">
      {tasks.map((task, index) => {
        const Icon = ICONS[task.status] ?? Circle;
        return (
          <li key={index} className={`task-${task.status}`}>
            <span role="img" aria-label={words()[task.status] ?? task.status}>
              <Icon />
            </span>
            <span>
              {visibleControls(task.title)}
              {task.notes && <span className="hint"> {visibleControls(task.notes)}</span>}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
