import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { t } from "../words";
import { ConversationServers } from "./ConversationServers";
import { RemoveButton } from "./EntryForm";
import { McpForm } from "./McpForm";
import { McpLogin } from "./McpLogin";
import { namesOf, targetOf } from "./mcp-config";
import { type McpServer, server } from "./server";

/** The MCP servers whose tools agents of new conversations get, and how those of the open one are doing. */
export function McpSettings() {
  const settings = useQuery({ queryKey: ["settings"], queryFn: server.settings });
  const queries = useQueryClient();
  const onSuccess = () => queries.invalidateQueries({ queryKey: ["settings"] });
  const toggle = useMutation({
    mutationFn: ([name, enabled]: [string, boolean]) => server.changeServer(name, { enabled }),
    onSuccess,
  });
  const remove = useMutation({ mutationFn: server.removeServer, onSuccess });
  const test = useMutation({ mutationFn: server.testServer });
  const servers = Object.entries(settings.data?.agent_settings.mcp_config ?? {});
  const problem = toggle.error ?? remove.error ?? test.error ?? settings.error;
  return (
    <>
      <p className="hint">{t("Programs and addresses that bring the agents of new conversations more tools.")}</p>
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
                <strong>{each}</strong> <code>{targetOf(config)}</code> <span className="hint">{withNames(config)}</span>
              </label>
              {config.url && <McpLogin name={each} config={config} />}
              <button
                disabled={test.isPending}
                aria-label={t("Test {name}", { name: each })}
                onClick={() => test.mutate(each)}
              >
                {t("Test")}
              </button>
              <RemoveButton name={each} onRemove={remove.mutate} />
            </div>
            {test.variables === each && test.data && (
              <p role="status" className={test.data.ok ? "good" : "problem"}>
                {test.data.ok ? t("Works. Tools: {tools}", { tools: toolNames(test.data.tools) }) : test.data.error}
              </p>
            )}
          </li>
        ))}
      </ul>
      {settings.isSuccess && servers.length === 0 && <p className="hint">{t("There are none yet.")}</p>}
      {problem && (
        <p role="alert" className="problem">
          {problem.message}
        </p>
      )}
      <McpForm onSaved={() => void onSuccess()} />
      <ConversationServers />
    </>
  );
}

const toolNames = (tools: string[] | undefined) => tools?.join(", ") || t("none");

function withNames(config: McpServer): string {
  const names = namesOf(config);
  return names.length > 0 ? t("with {names}", { names: names.join(", ") }) : "";
}
