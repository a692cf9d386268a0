import { useMemo } from "react";
import { showShell, useShell } from "../shell";
import { agentTranscript } from "../terminal";
import { TERMINAL, useTold } from "../told";
import type { View } from "../view";
import { t } from "../words";
import Screen from "./Screen";
import { UserTerminal } from "./UserTerminal";

/** The agent's shells as they run, and one of the user's own. */
export default function TerminalPanel({ id, view }: { id: string; view: View }) {
  const { isShown: isOwn } = useShell(id);
  return (
    <div className="terminals">
      <div className="segments" role="group" aria-label={t("Whose terminal")}>
        <button aria-pressed={!isOwn} onClick={() => showShell(id, false)}>
          {t("The agent’s")}
        </button>
        <button aria-pressed={isOwn} onClick={() => showShell(id, true)}>
          {t("Yours")}
        </button>
      </div>
      {isOwn ? <UserTerminal id={id} /> : <AgentTerminal id={id} view={view} />}
    </div>
  );
}

function AgentTerminal({ id, view: { items, output, hasEarlier } }: { id: string; view: View }) {
  const told = useTold(id, TERMINAL, hasEarlier);
  const text = useMemo(() => agentTranscript({ items, output }, told.events), [items, output, told.events]);
  if (text) return <Screen text={text} label={t("The agent’s terminal")} />;
  if (told.isLoading) return <p className="hint">{t("Loading…")}</p>;
  if (told.problem) return <p role="alert" className="problem">{told.problem}</p>;
  return <p className="hint">{t("The agent has run no command.")}</p>;
}
