import { useMemo } from "react";
import { useDiffColours } from "../panels/diff-colours";
import { visibleInFile } from "../plain";
import { t } from "../words";

/** Lines that are shown. */
const MAX_LINES = 2_000;
const KINDS: Record<string, string> = { "+": "added", "-": "removed", "*": "gap", "@": "gap" };

const kindOf = (line: string) => KINDS[line[0] ?? ""];
/** What stands behind the mark; null where it is no line of the file. */
const codeOf = (line: string) => (/^[-+ ]/.test(line) ? line.slice(1) : null);

/** Lines of a file with a mark before each: those that come and go are told apart. */
export function MarkedLines({ text, path }: { text: string; path: string }) {
  const lines = useMemo(() => visibleInFile(text).trimEnd().split("\n"), [text]);
  const texts = useMemo(() => ({ old: "", new: lines.map((line) => codeOf(line) ?? "").join("\n") }), [lines]);
  const coloured = useDiffColours(path, texts);
  return (
    <pre className="diff marked" tabIndex={0}>
      {lines.slice(0, MAX_LINES).map((line, index) => (
        <span key={index} className={kindOf(line)}>
          {codeOf(line) === null ? line : line[0]}
          {codeOf(line) !== null && (coloured("new", index + 1) ?? codeOf(line))}
          {"\n"}
        </span>
      ))}
      {lines.length > MAX_LINES && t("{n} more lines", { n: lines.length - MAX_LINES })}
    </pre>
  );
}
