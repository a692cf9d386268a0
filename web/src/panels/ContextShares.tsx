import { type Context, type Entry, type Kind, shareOf, sharesOf } from "../context";
import { type Meter, short } from "../meter";
import { plain, visibleControls } from "../plain";
import { t } from "../words";

const words = (): Record<Kind, string> => ({
  prompt: t("System prompt"),
  tools: t("Tools"),
  summary: t("Summary"),
  user: t("Messages"),
  agent: t("The agent’s words"),
  calls: t("Its calls"),
  results: t("Results"),
});

/** What one of them is called. */
const nameOf = ({ kind, tool }: Entry): string =>
  tool ? visibleControls(tool) : { ...words(), user: t("Message"), agent: t("Agent"), calls: t("Call"), results: t("Result") }[kind];

const percent = (share: number) => (share > 0 && share < 0.005 ? "< 1 %" : `${Math.round(share * 100)} %`);

/** What the next request to the model has in it. */
export function ContextShares({ context, meter }: { context: Context; meter: Meter }) {
  const shares = sharesOf(context);
  const used = short(context.tokens);
  const hits = meter.input > 0 ? Math.round((meter.cached / meter.input) * 100) : 0;
  return (
    <>
      <dl className="facts-list">
        <div>
          <dt>{t("Next request")}</dt>
          <dd>
            {context.window === null
              ? t("about {used} tokens", { used })
              : t("about {used} of {window} tokens", { used, window: short(context.window) })}
          </dd>
        </div>
        {context.reserve !== null && (
          <div>
            <dt>{t("Kept free for the reply")}</dt>
            <dd>{t("{tokens} tokens", { tokens: short(context.reserve) })}</dd>
          </div>
        )}
        <div>
          <dt>{t("Read from the cache")}</dt>
          <dd>{t("{share} % of {tokens} tokens", { share: hits, tokens: short(meter.input) })}</dd>
        </div>
      </dl>
      <div className="share-bar" aria-hidden="true">
        {shares.map(({ kind, share }) => (
          <span key={kind} className={`share-${kind}`} style={{ flexGrow: share }} />
        ))}
      </div>
      <ul className="shares">
        {shares.map(({ kind, tokens, share }) => (
          <li key={kind}>
            <span className={`swatch share-${kind}`} aria-hidden="true" /> {words()[kind]}
            <span className="hint">
              {short(tokens)} · {percent(share)}
            </span>
          </li>
        ))}
      </ul>
      {context.entries.length > 0 && (
        <details className="more">
          <summary>{t("Message by message")}</summary>
          <ol className="shares entries" tabIndex={0} aria-label={t("Message by message")}>
            {context.earlier.entries > 0 && (
              <li>
                <span className="entry-text">{t("{count} earlier messages", { count: context.earlier.entries })}</span>
                <span className="hint">{percent(shareOf(context, context.earlier.tokens))}</span>
              </li>
            )}
            {context.entries.map((entry, index) => (
              <EntryLine key={index} entry={entry} share={shareOf(context, entry.tokens)} />
            ))}
          </ol>
        </details>
      )}
    </>
  );
}

function EntryLine({ entry, share }: { entry: Entry; share: number }) {
  const mark = markOf(entry);
  return (
    <li>
      <span className={`swatch share-${entry.kind}`} aria-hidden="true" />
      <span className="entry-text">
        <strong>{nameOf(entry)}</strong> {plain(entry.text)}
        {mark && <em className="hint">{mark}</em>}
      </span>
      <span className="hint" title={t("about {used} tokens", { used: short(entry.tokens) })}>
        {percent(share)}
      </span>
    </li>
  );
}

/** What is not there any more. */
function markOf({ kind, is_masked: isMasked, left_out: count }: Entry): string | null {
  if (kind === "summary") return t("Stands for {count} earlier messages", { count });
  if (count > 0) return t("{count} messages before it were left out", { count });
  return isMasked ? t("Left out to make room") : null;
}
