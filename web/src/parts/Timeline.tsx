import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { ItemCard } from "../cards/ItemCard";
import { Draft } from "../cards/Draft";
import { type Settle, UnsentCard } from "../cards/UnsentCard";
import type { View } from "../fold";

const ROW_HEIGHT = 64;
/** Nearer to the end than this, the end is followed. */
const END_PX = 80;

/** Everything that happened; only what is in sight is in the page. */
export function Timeline({ view, onSettle }: { view: View; onSettle: Settle }) {
  const scroller = useRef<HTMLDivElement>(null);
  const { items, draft, unsent } = view;
  const drafts = draft ? 1 : 0;
  const rows = useVirtualizer({
    count: items.length + drafts + unsent.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    getItemKey: (index) => items[index]?.id ?? (index < items.length + drafts ? "draft" : `unsent-${index}`),
    overscan: 8,
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: END_PX,
  });
  const row = (index: number) => {
    const item = items[index];
    if (item) return <ItemCard item={item} isLast={index === items.length - 1} />;
    if (draft && index === items.length) return <Draft draft={draft} />;
    const message = unsent[index - items.length - drafts];
    return message && <UnsentCard message={message} onSettle={onSettle} />;
  };
  return (
    <div className="timeline" ref={scroller} tabIndex={0} role="log" aria-label="Messages" aria-busy={!view.isCurrent}>
      <div className="rows" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map((virtual) => (
          <div
            key={virtual.key}
            ref={rows.measureElement}
            data-index={virtual.index}
            className="row-slot"
            style={{ transform: `translateY(${virtual.start}px)` }}
          >
            {row(virtual.index)}
          </div>
        ))}
      </div>
      {!view.isCurrent && <p className="note">Loading…</p>}
      {!rows.isAtEnd(END_PX) && (
        <button className="to-end" onClick={() => rows.scrollToEnd()}>
          To the end
        </button>
      )}
    </div>
  );
}
