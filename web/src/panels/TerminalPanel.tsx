import { useEffect, useMemo, useState } from "react";
import { restoreShell, runInShell, showShell, useShell } from "../shell";
import { agentTranscript, ownTranscript } from "../terminal";
import type { View } from "../view";
import { t } from "../words";
import { workspace } from "../workspace";
import Screen from "./Screen";

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
      {isOwn ? <UserTerminal id={id} folder={view.folder} /> : <AgentTerminal view={view} />}
    </div>
  );
}

function AgentTerminal({ view: { items, output } }: { view: View }) {
  const text = useMemo(() => agentTranscript({ items, output }), [items, output]);
  if (!text) return <p className="hint">{t("The agent has run no command.")}</p>;
  return <Screen text={text} label={t("The agent’s terminal")} />;
}

function UserTerminal({ id, folder }: { id: string; folder: string }) {
  const shell = useShell(id);
  const [command, setCommand] = useState("");
  const [back, setBack] = useState(0);
  const text = useMemo(() => ownTranscript(shell.entries), [shell.entries]);
  useEffect(() => {
    if (folder) void restoreShell(id, folder);
  }, [id, folder]);
  const here = shell.folder || folder;
  const shown = here === folder ? "." : here.slice(folder.length + 1);
  const recall = (steps: number) => {
    const wanted = Math.min(Math.max(0, back + steps), shell.entries.length);
    setBack(wanted);
    setCommand(wanted === 0 ? "" : (shell.entries.at(-wanted)?.command ?? ""));
  };
  return (
    <>
      {text ? (
        <Screen text={text} label={t("Your terminal")} />
      ) : (
        <p className="hint">{t("Runs beside the agent, in the same workspace. Each command is a process of its own.")}</p>
      )}
      <form
        className="row shell"
        onSubmit={(event) => {
          event.preventDefault();
          if (!command.trim() || shell.running) return;
          setCommand("");
          setBack(0);
          void runInShell(id, folder, command);
        }}
      >
        <code className="hint">{shown} $</code>
        <input
          aria-label={t("Command")}
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          value={command}
          onChange={(event) => setCommand(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "ArrowUp") recall(1);
            else if (event.key === "ArrowDown") recall(-1);
            else if (event.key === "c" && event.ctrlKey && shell.running) void workspace.stop(id, shell.running);
            else return;
            event.preventDefault();
          }}
        />
        {shell.running ? (
          <button type="button" className="danger" onClick={() => shell.running && void workspace.stop(id, shell.running)}>
            {t("Stop")}
          </button>
        ) : (
          <button>{t("Run")}</button>
        )}
      </form>
    </>
  );
}
