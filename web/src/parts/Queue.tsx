import { useMutation, useQueryClient } from "@tanstack/react-query";
import { ArrowDown, ArrowUp, X } from "lucide-react";
import { useState } from "react";
import { visibleControls } from "../plain";
import { moved, queue, type Queued, queueKey } from "../queue";
import { t } from "../words";

/** What is said when the turn ends; until then it can be changed. */
export function Queue({ id, waiting }: { id: string; waiting: Queued[] }) {
  const queries = useQueryClient();
  const [edited, setEdited] = useState<{ id: string; text: string } | null>(null);
  const change = useMutation({
    mutationFn: (change: () => Promise<Queued[]>) => change(),
    onSuccess: (waiting) => queries.setQueryData(queueKey(id), waiting),
    // It may have been said meanwhile.
    onError: () => queries.invalidateQueries({ queryKey: queueKey(id) }),
  });
  const ids = waiting.map((message) => message.id);
  const move = (message: Queued, by: -1 | 1) => change.mutate(() => queue.order(id, moved(ids, message.id, by)));
  return (
    <section className="queue" aria-label={t("Messages that wait")}>
      <h2>{t("Said when this turn ends")}</h2>
      <ol>
        {waiting.map((message, index) =>
          edited?.id === message.id ? (
            <li key={message.id}>
              <form
                onSubmit={(event) => {
                  event.preventDefault();
                  change.mutate(() => queue.edit(id, message, edited.text.trim()), { onSuccess: () => setEdited(null) });
                }}
              >
                <textarea
                  autoFocus
                  aria-label={t("The message, changed")}
                  value={edited.text}
                  onChange={(event) => setEdited({ id: message.id, text: event.target.value })}
                />
                <button className="primary" disabled={!edited.text.trim() || change.isPending}>
                  {t("Save")}
                </button>
                <button type="button" onClick={() => setEdited(null)}>
                  {t("Cancel")}
                </button>
              </form>
            </li>
          ) : (
            <li key={message.id}>
              <span className="queued" title={visibleControls(message.text)}>
                {visibleControls(message.text) || t("Pictures")}
              </span>
              <button
                className="quiet"
                aria-label={t("Earlier")}
                title={t("Earlier")}
                disabled={index === 0 || change.isPending}
                onClick={() => move(message, -1)}
              >
                <ArrowUp />
              </button>
              <button
                className="quiet"
                aria-label={t("Later")}
                title={t("Later")}
                disabled={index === waiting.length - 1 || change.isPending}
                onClick={() => move(message, 1)}
              >
                <ArrowDown />
              </button>
              <button className="quiet" onClick={() => setEdited({ id: message.id, text: message.text })}>
                {t("Edit")}
              </button>
              <button
                className="quiet"
                aria-label={t("Remove")}
                title={t("Remove")}
                disabled={change.isPending}
                onClick={() => change.mutate(() => queue.remove(id, message.id))}
              >
                <X />
              </button>
            </li>
          ),
        )}
      </ol>
      {change.isError && (
        <p role="alert" className="problem">
          {change.error.message}
        </p>
      )}
    </section>
  );
}
