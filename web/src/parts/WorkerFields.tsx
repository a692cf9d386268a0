import type { ReactNode } from "react";
import { EXTERNAL_AGENTS, type Worker } from "../external-agent";
import { usePreferences } from "../preferences";
import { t } from "../words";

/** Who works: Deft's own agent, or another program that speaks the Agent Client Protocol. `children`: a field beside it. */
export function WorkerFields({ children }: { children: ReactNode }) {
  const { worker, command } = usePreferences();
  const set = usePreferences.setState;
  return (
    <>
      <div className="columns">
        <label>
          {t("Agent")}
          <select value={worker} onChange={(event) => set({ worker: event.target.value as Worker })}>
            <option value="deft">Deft</option>
            {Object.entries(EXTERNAL_AGENTS).map(([name, title]) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
            <option value="command">{t("another program")}</option>
          </select>
        </label>
        {children}
      </div>
      {worker === "command" && (
        <label>
          {t("Its command")}
          <input
            required
            spellCheck={false}
            autoComplete="off"
            placeholder="npx -y some-agent --acp"
            value={command}
            onChange={(event) => set({ command: event.target.value })}
          />
        </label>
      )}
      {worker !== "deft" && (
        <p className="hint">
          {t("It is started in the workspace, with an account of its own, and asks you through Deft what it may do.")}
        </p>
      )}
    </>
  );
}
