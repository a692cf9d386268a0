import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { t } from "../words";
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
  const [name, setName] = useState("");
  const [written, setWritten] = useState("");
  const settings = useQuery({ queryKey: ["settings"], queryFn: server.settings });
  const queries = useQueryClient();
  const onSuccess = () => queries.invalidateQueries({ queryKey: ["settings"] });
  const add = useMutation({
    mutationFn: () => server.addServer(name.trim(), configOf(written)),
    onSuccess: () => {
      setName("");
      setWritten("");
      return onSuccess();
    },
  });
  const toggle = useMutation({
    mutationFn: ([name, enabled]: [string, boolean]) => server.changeServer(name, { enabled }),
    onSuccess,
  });
  const remove = useMutation({ mutationFn: server.removeServer, onSuccess });
  const test = useMutation({ mutationFn: ([, config]: [string, McpServer]) => server.testServer(config) });
  const servers = Object.entries(settings.data?.agent_settings.mcp_config ?? {});
  const problem = add.error ?? toggle.error ?? remove.error ?? settings.error;
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
              <button aria-label={t("Remove {name}", { name: each })} onClick={() => remove.mutate(each)}>
                {t("Remove")}
              </button>
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
      <form
        onSubmit={(event) => {
          event.preventDefault();
          add.mutate();
        }}
      >
        <div className="columns">
          <label>
            {t("Name")}
            <input required value={name} onChange={(event) => setName(event.target.value)} />
          </label>
          <label>
            {t("Address, or program and arguments")}
            <input required placeholder="https://… or npx -y …" value={written} onChange={(event) => setWritten(event.target.value)} />
          </label>
        </div>
        {problem && (
          <p role="alert" className="problem">
            {problem.message}
          </p>
        )}
        <div className="row end">
          <button className="primary" disabled={add.isPending}>
            {t("Add")}
          </button>
        </div>
      </form>
    </>
  );
}

const toolNames = (tools: (string | { name?: string })[] | undefined) =>
  (tools ?? []).map((tool) => (typeof tool === "string" ? tool : (tool.name ?? ""))).join(", ") || t("none");
