import { Fragment, type KeyboardEvent, type ReactNode, useMemo, useState } from "react";
import { type Change, diffOf, type Line, sideBySide } from "../changes";
import type { Comment } from "../comments";
import { useFocusBack } from "../focus-back";
import { visibleControls, visibleInFile } from "../plain";
import { t } from "../words";
import { useDiffColours } from "./diff-colours";

/** Lines of one file that are shown. */
const MAX_LINES = 2_000;
const MARKS = { added: "+", removed: "−", same: " ", gap: "" };

export type DiffLayout = "inline" | "beside";

/** What a reviewer can do with the lines. */
export interface Review {
  comments: readonly Comment[];
  onComment: (line: Line, text: string) => void;
  onRemove: (comment: Comment) => void;
  /** Missing where nothing can be taken back. */
  onRevert?: ((hunk: number) => void) | undefined;
}

interface Props {
  change: Change;
  layout?: DiffLayout;
  review?: Review;
}

/** The lines in which a file differs. */
export function DiffTable({ change, layout = "inline", review }: Props) {
  const [open, setOpen] = useState<Line | null>(null);
  /** The one line that the tabulator key stops at; from there the arrows lead to the others. */
  const [stop, setStop] = useState<Stop | null>(null);
  const { path, before, after } = change;
  const diff = useMemo(() => diffOf({ path, before, after }), [path, before, after]);
  const lines = useMemo(() => diff?.lines.slice(0, MAX_LINES) ?? [], [diff]);
  const shown = isMixed(lines) ? visibleControls : visibleInFile;
  const texts = useMemo(() => ({ old: shown(before ?? ""), new: shown(after ?? "") }), [before, after, shown]);
  const coloured = useDiffColours(path, texts);
  if (!diff) return <p className="hint">{t("The file is too large to compare here.")}</p>;
  if (diff.lines.length === 0) return <p className="hint">{t("Nothing differs.")}</p>;
  const columns = layout === "inline" ? 4 : 6;

  const written = (line: Line) => coloured(sideOf(line), line[sideOf(line)] ?? 0) ?? shown(line.text);
  const first = lines.find((line) => line.type !== "gap");
  const held = stop && lines.includes(stop.line) ? stop : first && { line: first, side: sideOf(first) };
  const isStop = (line: Line, side: Side) => held?.line === line && held.side === side;
  const number = (line: Line | null, side: Side, value: number | null) => (
    <td className="number">
      {review && line && line.type !== "gap" && value !== null ? (
        <button
          className="line"
          tabIndex={isStop(line, side) ? 0 : -1}
          aria-label={t("Comment on line {n}", { n: value })}
          onFocus={() => setStop({ line, side })}
          onClick={() => setOpen(line)}
        >
          {value}
        </button>
      ) : (
        value
      )}
    </td>
  );
  const below = (line: Line | null) => {
    if (!review || !line) return null;
    const said = review.comments.filter((comment) => isAt(comment, line));
    return (
      <>
        {said.map((comment, index) => (
          <Remark key={index} columns={columns}>
            <p className="remark">
              {comment.text}{" "}
              <button className="quiet" aria-label={t("Remove this comment")} onClick={() => review.onRemove(comment)}>
                ✕
              </button>
            </p>
          </Remark>
        ))}
        {open === line && (
          <Remark columns={columns}>
            <CommentForm
              onCancel={() => setOpen(null)}
              onSave={(text) => {
                review.onComment(line, text);
                setOpen(null);
              }}
            />
          </Remark>
        )}
      </>
    );
  };
  const gap = (line: Line) => (
    <tr className="gap">
      <td colSpan={columns}>
        <span>{line.text}</span>
        {review?.onRevert && (
          <button className="quiet" onClick={() => review.onRevert?.(line.hunk)}>
            {t("Revert this part")}
          </button>
        )}
      </td>
    </tr>
  );
  const cell = (line: Line | null, side: Side) => {
    const kind = line?.type === "same" ? "" : (line?.type ?? "none");
    return (
      <>
        {number(line, side, line?.[side] ?? null)}
        <td className={`mark ${kind}`}>{line && MARKS[line.type]}</td>
        <td className={`text ${kind}`}>{line && written(line)}</td>
      </>
    );
  };
  return (
    <div
      className={`diff ${layout}`}
      tabIndex={0}
      role="group"
      aria-label={t("Differences in {path}", { path: visibleControls(path) })}
      onKeyDown={moveBetweenLines}
    >
      <table>
        {layout === "beside" && (
          <colgroup>
            {["number", "mark", "text", "number", "mark", "text"].map((kind, index) => (
              <col key={index} className={kind} />
            ))}
          </colgroup>
        )}
        <tbody>
          {layout === "inline"
            ? lines.map((line, index) => (
                <Fragment key={index}>
                  {line.type === "gap" ? (
                    gap(line)
                  ) : (
                    <tr className={line.type}>
                      {number(line.type === "removed" ? line : null, "old", line.old)}
                      {number(line.type === "removed" ? null : line, "new", line.new)}
                      <td className="mark">{MARKS[line.type]}</td>
                      <td className="text">{written(line)}</td>
                    </tr>
                  )}
                  {below(line)}
                </Fragment>
              ))
            : sideBySide(lines).map(({ left, right }, index) => (
                <Fragment key={index}>
                  {left?.type === "gap" ? (
                    gap(left)
                  ) : (
                    <tr>
                      {cell(left, "old")}
                      {cell(right, "new")}
                    </tr>
                  )}
                  {left !== right && below(left)}
                  {below(right)}
                </Fragment>
              ))}
        </tbody>
      </table>
      {diff.lines.length > MAX_LINES && (
        <p className="hint">{t("{n} more lines differ.", { n: diff.lines.length - MAX_LINES })}</p>
      )}
    </div>
  );
}

type Side = "old" | "new";

interface Stop {
  line: Line;
  side: Side;
}

/** Whether lines end in different ways. That one ends with `\r\n` is told then: some may differ in nothing else. */
function isMixed(lines: readonly Line[]): boolean {
  const changed = lines.filter(({ type }) => type === "added" || type === "removed");
  return changed.some(({ text }) => text.endsWith("\r")) && !changed.every(({ text }) => text.endsWith("\r"));
}

/** On which side a line is spoken about where both are in one column. */
const sideOf = (line: Line): Side => (line.type === "removed" ? "old" : "new");

/** From a line to the one above or below. */
function moveBetweenLines(event: KeyboardEvent<HTMLElement>): void {
  const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>("button.line")];
  const place = all.indexOf(event.target as HTMLElement);
  if (by === 0 || place < 0) return;
  event.preventDefault();
  all[place + by]?.focus();
}

function isAt(comment: Comment, line: Line): boolean {
  return comment.line === (comment.side === "old" ? line.old : line.new) && (line.type === "removed") === (comment.side === "old");
}

function Remark({ columns, children }: { columns: number; children: ReactNode }) {
  return (
    <tr className="remark-row">
      <td colSpan={columns}>{children}</td>
    </tr>
  );
}

function CommentForm({ onSave, onCancel }: { onSave: (text: string) => void; onCancel: () => void }) {
  useFocusBack();
  const [text, setText] = useState("");
  return (
    <form
      className="comment"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim()) onSave(text.trim());
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onCancel();
        if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) event.currentTarget.requestSubmit();
      }}
    >
      <textarea
        autoFocus
        rows={2}
        aria-label={t("Comment")}
        placeholder={t("What should the agent change here?")}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <div className="row end">
        <button type="button" onClick={onCancel}>
          {t("Cancel")}
        </button>
        <button className="primary" disabled={!text.trim()}>
          {t("Add comment")}
        </button>
      </div>
    </form>
  );
}
