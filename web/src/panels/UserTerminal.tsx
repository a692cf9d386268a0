import { useEffect, useRef, useState } from "react";
import { type Console, type Ending, openConsole } from "../console";
import { panelOf } from "../keys";
import { takeWaiting, useShell } from "../shell";
import { t } from "../words";
import { openTerminal } from "./xterm";

/** Leaves the terminal, in which every other key is the shell's. */
const LEAVE = "F6";

/** A terminal of the user's own in the workspace, which ends when nobody looks at it any more. */
export function UserTerminal({ id }: { id: string }) {
  const place = useRef<HTMLDivElement>(null);
  const leave = useRef<HTMLParagraphElement>(null);
  const shell = useRef<Console | null>(null);
  const [ending, setEnding] = useState<Ending | null>(null);
  const [round, setRound] = useState(0);
  const { waiting } = useShell(id);

  useEffect(() => {
    if (!place.current) return;
    const { terminal, close } = openTerminal(place.current, t("Type here. {key} leaves the terminal.", { key: LEAVE }), {});
    terminal.attachCustomKeyEventHandler((event) => {
      if (event.key === LEAVE && event.type === "keydown") leave.current?.focus();
      // The app's own keys work here, too.
      return event.key !== LEAVE && panelOf(event) === null;
    });
    const opened = openConsole(id, terminal, {
      onOutput: (bytes) => terminal.write(bytes),
      onEnd: setEnding,
    });
    shell.current = opened;
    terminal.onData((text) => opened.type(text));
    terminal.onResize((size) => opened.resize(size));
    terminal.focus();
    return () => {
      shell.current = null;
      opened.close();
      close();
    };
  }, [id, round]);

  useEffect(() => {
    if (waiting.length > 0) shell.current?.type(takeWaiting(id).map((command) => `${command}\r`).join(""));
  }, [id, waiting]);

  return (
    <>
      <div ref={place} className="terminal" role="group" aria-label={t("Your terminal")} />
      <p ref={leave} className="hint" tabIndex={-1}>
        {t("Runs beside the agent, in the same workspace, and ends when you leave this panel.")} <kbd>{LEAVE}</kbd>{" "}
        {t("leaves the terminal.")}
      </p>
      {ending && (
        <div className="row" role="status">
          <span className={ending.type === "lost" ? "problem" : "hint"}>
            {ending.type === "ended" ? t("The shell has ended.") : ending.reason || t("The connection to the terminal was cut.")}
          </span>
          <button
            onClick={() => {
              setEnding(null);
              setRound(round + 1);
            }}
          >
            {t("Open a new one")}
          </button>
        </div>
      )}
    </>
  );
}
