import { memo } from "react";
import type { Draft as Reply } from "../view";
import { LongMarkdown } from "../parts/Markdown";
import { plain } from "../plain";
import { t } from "../words";

/** A reply that is being written. The list around it is drawn again whenever a row grows; this only when there is more. */
export const Draft = memo(function Draft({ draft }: { draft: Reply }) {
  return (
    <article className="message from-agent draft" aria-label={t("Agent is writing")} aria-busy="true">
      {draft.isPartial && <span className="hint">…</span>}
      {draft.text ? (
        <LongMarkdown text={draft.text} end="growing" />
      ) : (
        <p className="hint">{draft.reasoning ? plain(draft.reasoning.slice(-400)) : t("Thinking…")}</p>
      )}
    </article>
  );
});
