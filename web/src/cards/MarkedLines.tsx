import { visibleInFile } from "../plain";
import { t } from "../words";

/** Lines that are shown. */
const MAX_LINES = 2_000;
const KINDS: Record<string, string> = { "+": "added", "-": "removed", "*": "gap", "@": "gap" };

/** Lines of which those that begin with a plus or a minus are coloured. */
export function MarkedLines({ text }: { text: string }) {
  const lines = visibleInFile(text).trimEnd().split("\n");
  return (
    <pre className="diff marked" tabIndex={0}>
      {lines.slice(0, MAX_LINES).map((line, index) => (
        <span key={index} className={KINDS[line[0] ?? ""]}>
          {line}
          {"\n"}
        </span>
      ))}
      {lines.length > MAX_LINES && t("{n} more lines", { n: lines.length - MAX_LINES })}
    </pre>
  );
}
