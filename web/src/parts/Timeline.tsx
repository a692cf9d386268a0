import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown } from "lucide-react";
import { useEffect, useMemo, useRef } from "react";
import { Draft } from "../cards/Draft";
import { ItemCard } from "../cards/ItemCard";
import { type Settle, UnsentCard } from "../cards/UnsentCard";
import { evidenceOf } from "../evidence";
import type { Stream } from "../stream";
import { isThinking, type View } from "../view";
import { t } from "../words";
import { Guard } from "./Guard";

/** About as high as most cards are: what is guessed well need not be drawn twice. */
const ROW_HEIGHT = 48;
const PADDING_PX = 12;
/** Whoever comes down nearer to the end than this follows it. */
const END_PX = 80;
/** So near they are at it: positions are rounded. */
const AT_END_PX = 2;
/** With so few rows left above, more are loaded. */
const ROWS_ABOVE = 10;

/** Everything that happened; only what is in sight is in the page. */
export function Timeline({ view, stream, onSettle }: { view: View; stream: Stream; onSettle: Settle }) {
  const scroller = useRef<HTMLDivElement>(null);
  const { items, draft, unsent } = view;
  const isWriting = draft !== null || isThinking(view);
  const drafts = isWriting ? 1 : 0;
  const count = items.length + drafts + unsent.length;
  const rows = useVirtualizer({
    count,
    // Begins when there is something, with its end: nothing else is drawn before that.
    enabled: count > 0,
    initialOffset: () => Math.max(0, count * ROW_HEIGHT - innerHeight),
    initialRect: { width: innerWidth, height: innerHeight },
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    getItemKey: (index) => items[index]?.id ?? unsent[index - items.length - drafts]?.id ?? "draft",
    overscan: 4,
    paddingStart: PADDING_PX,
    paddingEnd: PADDING_PX,
    anchorTo: "end",
    followOnAppend: true,
  });
  const isAtEnd = rows.isAtEnd(END_PX);
  // Rows grow when a panel takes their room or a card is opened: who was at the end stays there.
  const follows = useRef(true);
  const place = useRef(0);
  const said = useRef(unsent.length);
  useEffect(() => {
    // Who says something wants to see what comes of it.
    if (unsent.length > said.current) follows.current = true;
    said.current = unsent.length;
  }, [unsent.length]);
  useEffect(() => {
    if (follows.current && !rows.isAtEnd(1)) rows.scrollToEnd();
  });
  useEffect(() => {
    const seen = new ResizeObserver(() => {
      if (follows.current) rows.scrollToEnd();
    });
    if (scroller.current) seen.observe(scroller.current);
    return () => seen.disconnect();
  }, [rows]);
  stream.fold.isAtEnd = isAtEnd;
  const first = rows.getVirtualItems()[0]?.index ?? 0;
  const isShort = first < ROWS_ABOVE && view.isCurrent && view.hasEarlier;
  const { earlier } = stream.fold; // a page may have nothing to show in it
  useEffect(() => {
    if (isShort) void stream.load();
  }, [isShort, earlier, items.length, stream]);
  const isDone = view.status === "finished";
  const evidence = useMemo(() => (isDone ? evidenceOf(items) : null), [isDone, items]);
  const row = (index: number) => {
    const item = items[index];
    if (item) {
      const isLast = index === items.length - 1;
      return (
        <ItemCard
          item={item}
          isLast={isLast}
          folder={view.folder}
          output={view.output[item.id]}
          status={view.status}
          evidence={isLast ? evidence : null}
        />
      );
    }
    if (isWriting && index === items.length) return <Draft draft={draft} />;
    const message = unsent[index - items.length - drafts];
    return message && <UnsentCard message={message} onSettle={onSettle} />;
  };
  return (
    <div
      className="timeline"
      ref={scroller}
      tabIndex={0}
      role="log"
      aria-label={t("Messages")}
      aria-busy={!view.isCurrent || isShort}
      onScroll={({ currentTarget: at }) => {
        const left = at.scrollHeight - at.scrollTop - at.clientHeight;
        // Only who goes up leaves the end, be it by a line: rows that turn out higher than guessed move it away, too.
        if (left < AT_END_PX) follows.current = true;
        else if (at.scrollTop < place.current) follows.current = false;
        else if (left < END_PX) follows.current = true;
        place.current = at.scrollTop;
      }}
    >
      <div className="rows" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map((virtual) => (
          <div
            key={virtual.key}
            ref={rows.measureElement}
            data-index={virtual.index}
            className="row-slot"
            style={{ transform: `translateY(${virtual.start}px)` }}
          >
            <Guard>{row(virtual.index)}</Guard>
          </div>
        ))}
      </div>
      {(!view.isCurrent || isShort) && items.length === 0 && <p className="note">{t("Loading…")}</p>}
      {!isAtEnd && (
        <button className="to-end" onClick={() => rows.scrollToEnd()}>
          <ArrowDown /> {t("To the end")}
        </button>
      )}
    </div>
  );
}
