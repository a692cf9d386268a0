import type { Draft as Reply } from "../fold";
import { GrowingMarkdown } from "../parts/Markdown";

/** A reply that is being written. */
export function Draft({ draft }: { draft: Reply }) {
  return (
    <article className="message from-agent draft" aria-label="Agent is writing" aria-busy="true">
      {draft.isPartial && <span className="hint">…</span>}
      {draft.text ? (
        <GrowingMarkdown text={draft.text} />
      ) : (
        <p className="hint">{draft.reasoning ? draft.reasoning.slice(-400) : "Thinking…"}</p>
      )}
    </article>
  );
}
