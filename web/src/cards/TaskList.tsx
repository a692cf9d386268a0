import type { Task } from "../fold";

const WORDS: Record<Task["status"], string> = { todo: "to do", in_progress: "under way", done: "done" };
const MARKS: Record<Task["status"], string> = { todo: "○", in_progress: "◐", done: "●" };

export function TaskList({ tasks }: { tasks: Task[] }) {
  return (
    <ul className="tasks">
      {tasks.map((task, index) => (
        <li key={index} className={`task-${task.status}`}>
          <span role="img" aria-label={WORDS[task.status] ?? task.status}>
            {MARKS[task.status] ?? "○"}
          </span>{" "}
          {task.title}
          {task.notes && <span className="hint"> {task.notes}</span>}
        </li>
      ))}
    </ul>
  );
}
