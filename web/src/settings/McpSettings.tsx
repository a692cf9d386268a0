import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { t } from "../words";
import { EntryForm, RemoveButton } from "./EntryForm";
import { type McpServer, server } from "./server";

/** How a server is named in one line: an address, or a program and its arguments. */
export function configOf(written: string): McpServer {
  const text = written.trim();
  if (/^https?:\/\//.test(text)) return { url: text };
  const [command = "", ...args] = text.split(/\s+/);
  return { command, args };
}

const shown = ({ url, command, args }: McpServer) => url ?? [command, ...(args ?? [])].join(" ");

/** The MCP servers whose tools agents of new conversations get. */
export function McpSettings() {
  const settings = useQuery({ queryKey: ["settings"], queryFn: server.settings });
  const queries = useQueryClient();
  const onSuccess = () => queries.invalidateQueries({ queryKey: ["settings"] });
  const toggle = useMutation({
    mutationFn: ([name, enabled]: [string, boolean]) => server.changeServer(name, { enabled }),
    onSuccess,
  });
  const remove = useMutation({ mutationFn: server.removeServer, onSuccess });
  const test = useMutation({ mutationFn: ([, config]: [string, McpServer]) => server.testServer(config) });
  const servers = Object.entries(settings.data?.agent_settings.mcp_config ?? {});
  return (
    <>
      <ul className="list">
        {servers.map(([each, config]) => (
          <li key={each}>
            <div className="row">
              <label className="inline list-title">
                <input
                  type="checkbox"
                  checked={config.enabled !== false}
                  onChange={(event) => toggle.mutate([each, event.target.checked])}
                />
                <strong>{each}</strong> <code>{shown(config)}</code>
              </label>
              <button disabled={test.isPending} onClick={() => test.mutate([each, config])}>
                {t("Test")}
              </button>
              <RemoveButton name={each} onRemove={remove.mutate} />
            </div>
            {test.variables?.[0] === each && test.data && (
              <p role="status" className={test.data.ok ? "good" : "problem"}>
                {test.data.ok ? t("Works. Tools: {tools}", { tools: toolNames(test.data.tools) }) : test.data.error}
              </p>
            )}
          </li>
        ))}
      </ul>
      {settings.isSuccess && servers.length === 0 && <p className="hint">{t("There are none yet.")}</p>}
      <EntryForm
        fields={[
          { name: "name", label: t("Name"), required: true },
          { name: "written", label: t("Address, or program and arguments"), required: true, placeholder: "https://… or npx -y …" },
        ]}
        word={t("Add")}
        onSave={({ name = "", written = "" }) => server.addServer(name, configOf(written)).then(onSuccess)}
        problem={toggle.error ?? remove.error ?? settings.error}
      />
    </>
  );
}

const toolNames = (tools: string[] | undefined) => tools?.join(", ") || t("none");
