import { useMutation, useQuery } from "@tanstack/react-query";
import { api } from "../api";
import { type Kind, sharesOf } from "../context";
import { dollars, short } from "../meter";
import { plain } from "../plain";
import type { View } from "../view";
import { t } from "../words";

const words = (): Record<Kind, string> => ({
  prompt: t("System prompt"),
  tools: t("Tools"),
  user: t("Your messages"),
  agent: t("The agent’s words"),
  calls: t("Its calls"),
  results: t("Results"),
});

/** What the model sees, and what that costs. */
export default function ContextPanel({ id, view }: { id: string; view: View }) {
  const { meter, briefing } = view;
  const shares = sharesOf(view);
  const condense = useMutation({ mutationFn: () => api.condense(id) });
  const info = useQuery({ queryKey: ["conversation", id], queryFn: () => api.get(id) });
  const skills = [...new Set([...(info.data?.activated_knowledge_skills ?? []), ...(info.data?.invoked_skills ?? [])])];
  const hits = meter.input > 0 ? Math.round((meter.cached / meter.input) * 100) : 0;
  return (
    <>
      <dl className="facts-list">
        {meter.window > 0 && (
          <div>
            <dt>{t("Last request")}</dt>
            <dd>
              {t("{used} of {window} tokens", { used: short(meter.last), window: short(meter.window) })}
            </dd>
          </div>
        )}
        <div>
          <dt>{t("Read from the cache")}</dt>
          <dd>{t("{share} % of {tokens} tokens", { share: hits, tokens: short(meter.input) })}</dd>
        </div>
        {meter.models.map((model) => (
          <div key={model.name}>
            <dt>{model.name}</dt>
            <dd>
              {dollars(model)} · {t("{in} in, {out} out", { in: short(model.input), out: short(model.output) })}
            </dd>
          </div>
        ))}
      </dl>
      <div className="share-bar" aria-hidden="true">
        {shares.map(({ kind, share }) => (
          <span key={kind} className={`share-${kind}`} style={{ flexGrow: share }} />
        ))}
      </div>
      <ul className="shares">
        {shares.map(({ kind, share }) => (
          <li key={kind}>
            <span className={`swatch share-${kind}`} aria-hidden="true" /> {words()[kind]}
            <span className="hint">
              {Math.round(share * 100)} %{meter.last > 0 && ` · ~${short(Math.round(share * meter.last))}`}
            </span>
          </li>
        ))}
      </ul>
      {view.hasEarlier && <p className="hint">{t("Counted from what is loaded of the conversation.")}</p>}
      <div className="row">
        <button disabled={condense.isPending} onClick={() => condense.mutate()}>
          {t("Make room now")}
        </button>
        {condense.isError && (
          <span role="alert" className="problem">
            {condense.error.message}
          </span>
        )}
      </div>
      <p>
        {t("Skills in use:")} {skills.length > 0 ? skills.map((skill) => plain(skill)).join(", ") : t("none")}
      </p>
      {briefing ? (
        <>
          <details className="more">
            <summary>{t("System prompt")}</summary>
            <pre className="output" tabIndex={0}>{plain(briefing.prompt)}</pre>
          </details>
          {briefing.context && (
            <details className="more">
              <summary>{t("Added for this conversation")}</summary>
              <pre className="output" tabIndex={0}>{plain(briefing.context)}</pre>
            </details>
          )}
          <details className="more">
            <summary>
              {t("Tools")} ({briefing.tools.length})
            </summary>
            <dl className="tool-list">
              {briefing.tools.map((tool, index) => (
                <div key={index}>
                  <dt>
                    <code>{tool.title ?? tool.name}</code>
                  </dt>
                  <dd>{plain(tool.description ?? "")}</dd>
                </div>
              ))}
            </dl>
          </details>
        </>
      ) : (
        <p className="hint">{t("The beginning of the conversation is not loaded.")}</p>
      )}
    </>
  );
}
