import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api";
import { dollars, short } from "../meter";
import { visibleControls } from "../plain";
import { stepOf } from "../context";
import type { View } from "../view";
import { t } from "../words";
import { ContextShares } from "./ContextShares";

/** Who used a model, by the server's name for it: the agent, what serves it, or one of its sub-agents. */
function userOf(name: string): string {
  const [own, ...parts] = name.split(":");
  if (own === "agent") return t("The agent");
  if (own === "condenser") return t("Summaries");
  if (own === "title" && parts.length === 0) return t("The title");
  return parts.length > 0 ? t("Sub-agent {name}", { name: visibleControls(parts.join(":")).slice(0, 8) }) : visibleControls(name);
}

/** What the model is told of a tool; of an external agent's, the schema is not known. */
interface OfferedTool {
  name: string;
  description: string;
  parameters?: object;
}

/** Asks for what the model would be sent next, and anew when a step ends. */
function useContextOf(id: string, view: View) {
  const now = stepOf(view);
  const [step, setStep] = useState(now);
  if (now !== null && now !== step) setStep(now);
  return useQuery({
    queryKey: ["context", id, step],
    queryFn: () => api.context(id),
    placeholderData: (before, query) => (query?.queryKey[1] === id ? before : undefined),
    retry: false,
    gcTime: 0,
  });
}

/** What the model sees, and what that costs. */
export default function ContextPanel({ id, view }: { id: string; view: View }) {
  const { meter } = view;
  const beginning = useQuery({
    queryKey: ["briefing", id],
    queryFn: () => api.briefing(id),
    enabled: !view.briefing,
    staleTime: Infinity,
  });
  const briefing = view.briefing ?? beginning.data ?? null;
  const { data: context, error: problem } = useContextOf(id, view);
  const tools: OfferedTool[] =
    context?.tools ?? (briefing?.tools ?? []).map((tool) => ({ name: tool.title ?? tool.name ?? "", description: tool.description ?? "" }));
  const condense = useMutation({ mutationFn: () => api.condense(id) });
  const info = useQuery({ queryKey: ["conversation", id], queryFn: () => api.get(id) });
  const skills = [...new Set([...(info.data?.activated_knowledge_skills ?? []), ...(info.data?.invoked_skills ?? [])])];
  return (
    <>
      <h2>{t("What the model reads")}</h2>
      {context ? (
        <ContextShares context={context} meter={meter} />
      ) : (
        <p className="hint" role={problem ? "alert" : undefined}>
          {problem ? problem.message : t("Loading…")}
        </p>
      )}
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
      <h2>{t("Used so far")}</h2>
      <table className="usage">
        <thead>
          <tr>
            <th scope="col">{t("Who")}</th>
            <th scope="col">{t("In")}</th>
            <th scope="col">{t("Cached")}</th>
            <th scope="col">{t("Out")}</th>
            <th scope="col">{t("Cost")}</th>
          </tr>
        </thead>
        <tbody>
          {meter.models.map((model) => (
            <tr key={model.name}>
              <th scope="row">
                {userOf(model.name)}
                {model.model && <span className="hint"> {visibleControls(model.model)}</span>}
              </th>
              <td>{short(model.input)}</td>
              <td>{short(model.cached)}</td>
              <td>{short(model.output)}</td>
              <td>{dollars(model)}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">{t("All")}</th>
            <td>{short(meter.input)}</td>
            <td>{short(meter.cached)}</td>
            <td>{short(meter.output)}</td>
            <td>{dollars(meter)}</td>
          </tr>
        </tfoot>
      </table>
      <h2>{t("Brought along")}</h2>
      <p>
        {t("Skills in use:")} {skills.length > 0 ? skills.map((skill) => visibleControls(skill)).join(", ") : t("none")}
      </p>
      {briefing ? (
        <>
          <details className="more">
            <summary>{t("System prompt")}</summary>
            <pre className="output" tabIndex={0}>{visibleControls(briefing.prompt)}</pre>
          </details>
          {briefing.context && (
            <details className="more">
              <summary>{t("Added for this conversation")}</summary>
              <pre className="output" tabIndex={0}>{visibleControls(briefing.context)}</pre>
            </details>
          )}
          <details className="more">
            <summary>
              {t("Tools")} ({tools.length})
            </summary>
            <dl className="tool-list">
              {tools.map((tool, index) => (
                <div key={index}>
                  <dt>
                    <code>{visibleControls(tool.name)}</code>
                  </dt>
                  <dd>
                    {visibleControls(tool.description)}
                    {tool.parameters && (
                      <details>
                        <summary>{t("Its arguments, as a JSON schema")}</summary>
                        <pre className="output" tabIndex={0}>
                          {visibleControls(JSON.stringify(tool.parameters, null, 2))}
                        </pre>
                      </details>
                    )}
                  </dd>
                </div>
              ))}
            </dl>
          </details>
        </>
      ) : (
        <p className="hint">{beginning.isPending ? t("Loading…") : t("The agent has not begun yet.")}</p>
      )}
    </>
  );
}
