import { type Change, diffOf } from "../changes";
import { plain } from "../plain";
import { useCard } from "../screen";

/** Lines of one file that are shown. */
const MAX_LINES = 2_000;

/** A file that was changed. */
export function DiffView({ change, folder }: { change: Change; folder: string }) {
  const [isOpen, toggle] = useCard(`changes/${change.path}`, true);
  const diff = diffOf(change);
  const inFolder = change.path.startsWith(`${folder}/`);
  return (
    <section className="card" aria-label={change.path}>
      <button className="card-head" aria-expanded={isOpen} onClick={toggle}>
        <span className="card-label">{change.before === null ? "New" : "Changed"}</span>
        <code className="card-title">{plain(inFolder ? change.path.slice(folder.length + 1) : change.path)}</code>
        {diff && (
          <span className="outcome good">
            +{diff.added} −{diff.removed}
          </span>
        )}
      </button>
      {isOpen && <DiffLines change={change} />}
    </section>
  );
}

const MARKS = { added: "+", removed: "−", same: " ", gap: "" };

export function DiffLines({ change }: { change: Change }) {
  const diff = diffOf(change);
  if (!diff) return <p className="hint">The file is too large to compare here.</p>;
  if (diff.lines.length === 0) return <p className="hint">Nothing differs.</p>;
  return (
    <div className="diff" tabIndex={0} role="group" aria-label={`Differences in ${change.path}`}>
      <table>
        <tbody>
          {diff.lines.slice(0, MAX_LINES).map((line, index) => (
            <tr key={index} className={line.type}>
              <td className="number">{line.old}</td>
              <td className="number">{line.new}</td>
              <td className="mark">{MARKS[line.type]}</td>
              <td className="text">{plain(line.text)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {diff.lines.length > MAX_LINES && <p className="hint">{diff.lines.length - MAX_LINES} more lines differ.</p>}
    </div>
  );
}
