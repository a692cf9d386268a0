import { useScreen } from "../screen";
import type { View } from "../fold";
import { DiffView } from "../cards/DiffView";
import { TaskList } from "../cards/TaskList";

/** What has become of the files, and of the plan. */
export default function Panel({ view }: { view: View }) {
  return (
    <aside className="panel" aria-label="Changes">
      <div className="row">
        <h2>Changes</h2>
        <button className="quiet" aria-label="Close changes" onClick={() => useScreen.setState({ isPanelOpen: false })}>
          ✕
        </button>
      </div>
      {view.changes.length === 0 && <p className="hint">The agent’s editor has changed no file yet.</p>}
      {view.changes.map((change) => (
        <DiffView key={change.path} change={change} folder={view.folder} />
      ))}
      <p className="hint">Changes that commands made are not listed here.</p>
      {view.tasks.length > 0 && (
        <>
          <h2>Tasks</h2>
          <TaskList tasks={view.tasks} />
        </>
      )}
    </aside>
  );
}
