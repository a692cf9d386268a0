import { memo } from "react";
import type { Draft as Reply } from "../view";
import { LongMarkdown } from "../parts/Markdown";
import { plain } from "../plain";
import { t } from "../words";

/** A reply that is being written; null: nothing of it is there yet. The list around it is drawn again whenever a row
 * grows; this only when there is more. */
export const Draft = memo(function Draft({ draft }: { draft: Reply | null }) {
  // Who listens has heard that it works.
  if (!draft) return <p className="hint thinking" aria-hidden="true">{t("Thinking…")}</p>;
  return (
    <article className="message from-agent draft" aria-label={t("Agent is writing")} aria-busy="true">
      {draft.isPartial && <span className="hint">…</span>}
      {draft.text ? (
        <LongMarkdown text={draft.text} end="growing" />
      ) : (
        <p className="hint thinking">{draft.reasoning ? plain(draft.reasoning.slice(-400)) : t("Thinking…")}</p>
      )}
    </article>
  );
});
