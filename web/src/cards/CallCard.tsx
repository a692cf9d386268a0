import { ChevronRight } from "lucide-react";
import type { Call } from "../view";
import { Counts } from "../parts/Counts";
import { Markdown } from "../parts/Markdown";
import { RiskMark } from "../parts/RiskMark";
import { useCard } from "../screen";
import { type Status, textOf } from "../wire";
import { t } from "../words";
import { CallDetails } from "./CallDetails";
import { CallIcon } from "./CallIcon";
import { CriticNote } from "./CriticNote";
import { describe } from "./describe";
import { Output } from "./Output";
import { Reasoning } from "./Reasoning";
import { SpentNote } from "./SpentNote";

interface Props {
  call: Call;
  /** Where the agent works. */
  folder: string;
  output: string | undefined;
  /** Of the conversation. */
  status: Status;
}

/** What an open call does. */
function openWord(status: Status): string {
  if (status === "running") return t("running");
  return status === "waiting_for_confirmation" ? t("waits for you") : t("open");
}

/** What the agent did: the point first, the rest on demand. */
export function CallCard({ call, folder, output, status }: Props) {
  const { label, title, outcome, tone, counts } = describe(call, folder);
  const [isOpen, toggle] = useCard(call.id, tone === "bad" || call.event.action?.kind === "TaskTrackerAction" || counts !== undefined);
  const thought = textOf(call.event.thought);
  if (call.event.action?.kind === "FinishAction") {
    return (
      <article className="message from-agent finish" aria-label={t("Agent: finished")}>
        <Reasoning id={call.id} text={call.event.reasoning_content} />
        {thought && <Markdown text={thought} />}
        <Markdown text={String(call.event.action["message"] ?? "")} />
        <CriticNote critic={call.event.critic_result} />
        {call.spent && <SpentNote spent={call.spent} />}
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
          <CallIcon call={call} />
          <span className="card-label">{label}</span>
          <code className="card-title">{title}</code>
          {call.risk === "HIGH" && <RiskMark risk={call.risk} />}
          {counts && <Counts {...counts} />}
          {outcome && !counts && <span className={`outcome ${tone}`}>{call.result ? outcome : openWord(status)}</span>}
          <ChevronRight className="card-arrow" />
        </button>
        {isOpen && <CallDetails call={call} command={isShort(call) ? "left out" : "shown"} />}
        {output && <Output id={`${call.id}/live`} text={output} />}
      </div>
    </article>
  );
}

/** A command of so few letters is whole in the card's head. */
const SHORT = 60;

function isShort({ event: { action } }: Call): boolean {
  const command = String(action?.["command"] ?? "");
  return command.length <= SHORT && !command.includes("\n");
}
