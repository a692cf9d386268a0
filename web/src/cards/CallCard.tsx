import type { Call } from "../view";
import { Markdown } from "../parts/Markdown";
import { RiskMark } from "../parts/RiskMark";
import { useCard } from "../screen";
import { textOf } from "../wire";
import { t } from "../words";
import { CallDetails } from "./CallDetails";
import { describe } from "./describe";
import { Output } from "./Output";

/** What the agent did: the point first, the rest on demand. */
export function CallCard({ call, output }: { call: Call; output: string | undefined }) {
  const { label, title, outcome, tone } = describe(call);
  const [isOpen, toggle] = useCard(call.id, tone === "bad" || call.event.action?.kind === "TaskTrackerAction" || outcome.startsWith("+"));
  const thought = textOf(call.event.thought);
  if (call.event.action?.kind === "FinishAction") {
    return (
      <article className="message from-agent finish" aria-label={t("Agent: finished")}>
        <Markdown text={String(call.event.action["message"] ?? "")} />
      </article>
    );
  }
  return (
    <article className="call" aria-label={label}>
      {thought && (
        <div className="message from-agent">
          <Markdown text={thought} />
        </div>
      )}
      <div className="card">
        <button className="card-head" aria-expanded={isOpen} onClick={toggle}>
          <span className="card-label">{label}</span>
          <code className="card-title">{title}</code>
          {call.risk === "HIGH" && <RiskMark risk={call.risk} />}
          {outcome && <span className={`outcome ${tone}`}>{outcome}</span>}
        </button>
        {isOpen && <CallDetails call={call} />}
        {output && <Output id={`${call.id}/live`} text={output} />}
      </div>
    </article>
  );
}
