import { useEffect, useRef, useState } from "react";
import { answerOf, describe } from "../cards/describe";
import { runInShell, useShell } from "../shell";
import type { Call, View } from "../view";
import { t } from "../words";
import { workspace } from "../workspace";
import { AnsiText } from "./AnsiText";

/** Commands of the agent that are shown. */
const MAX_COMMANDS = 50;

/** The agent's shells as they run, and one of the user's own. */
export default function TerminalPanel({ id, view }: { id: string; view: View }) {
  const [whose, setWhose] = useState<"agent" | "user">("agent");
  return (
    <>
      <div className="segments" role="group" aria-label={t("Whose terminal")}>
        <button aria-pressed={whose === "agent"} onClick={() => setWhose("agent")}>
          {t("The agent’s")}
        </button>
        <button aria-pressed={whose === "user"} onClick={() => setWhose("user")}>
          {t("Yours")}
        </button>
      </div>
      {whose === "agent" ? <AgentTerminal view={view} /> : <UserTerminal id={id} folder={view.folder} />}
    </>
  );
}

function AgentTerminal({ view }: { view: View }) {
  const isCommand = (item: View["items"][number]): item is Call =>
    item.type === "call" && item.event.action?.kind === "TerminalAction";
  const commands = view.items.filter(isCommand).slice(-MAX_COMMANDS);
  const end = useEnd([commands.length, view.output]);
  return (
    <div className="terminal" tabIndex={0} role="log" aria-label={t("The agent’s terminal")}>
      {commands.length === 0 && <p className="hint">{t("The agent has run no command.")}</p>}
      {commands.map((call) => {
        const { outcome, tone } = describe(call);
        const text = call.result ? answerOf(call) : (view.output[call.id] ?? "");
        return (
          <section key={call.id}>
            <p className="prompt">
              <code>$ {String(call.event.action?.["command"] ?? "")}</code> <span className={tone}>{outcome}</span>
            </p>
            {text && <AnsiText text={text} />}
          </section>
        );
      })}
      <div ref={end} />
    </div>
  );
}

function UserTerminal({ id, folder }: { id: string; folder: string }) {
  const shell = useShell(id);
  const [command, setCommand] = useState("");
  const [back, setBack] = useState(0);
  const end = useEnd([shell.entries]);
  const here = shell.folder || folder;
  const shown = here === folder ? "." : here.slice(folder.length + 1);
  const recall = (steps: number) => {
    const wanted = Math.min(Math.max(0, back + steps), shell.entries.length);
    setBack(wanted);
    setCommand(wanted === 0 ? "" : (shell.entries.at(-wanted)?.command ?? ""));
  };
  return (
    <>
      <div className="terminal" tabIndex={0} role="log" aria-label={t("Your terminal")}>
        {shell.entries.length === 0 && (
          <p className="hint">{t("Runs beside the agent, in the same workspace. Each command is a process of its own.")}</p>
        )}
        {shell.entries.map((entry, index) => (
          <section key={index}>
            <p className="prompt">
              <code>$ {entry.command}</code>{" "}
              {entry.code !== null && entry.code !== 0 && <span className="bad">exit {entry.code}</span>}
            </p>
            {entry.text && <AnsiText text={entry.text} />}
          </section>
        ))}
        <div ref={end} />
      </div>
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

/** Keeps the end in sight when something changes. */
function useEnd(changes: readonly unknown[]) {
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => void end.current?.scrollIntoView({ block: "nearest" }), changes);
  return end;
}
