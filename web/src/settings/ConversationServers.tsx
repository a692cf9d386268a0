import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { visibleControls } from "../plain";
import { shownConversation } from "../route";
import { t } from "../words";
import { type ConversationServer, server } from "./server";

/** How often they are looked at. */
const LOOK_EVERY_MS = 3_000;

const words = (): Record<ConversationServer["state"]["status"], string> => ({
  connecting: t("being started"),
  ready: t("ready"),
  changed: t("changed"),
  failed: t("failed"),
});

/** The MCP servers of the conversation that is open: how they are doing, and what has to be agreed to. */
export function ConversationServers() {
  const id = shownConversation();
  return (
    <fieldset>
      <legend>{t("In this conversation")}</legend>
      {id ? <Servers id={id} /> : <p className="hint">{t("Open a conversation to see how its servers are doing.")}</p>}
    </fieldset>
  );
}

function Servers({ id }: { id: string }) {
  const queryKey = ["mcp-servers", id];
  const servers = useQuery({ queryKey, queryFn: () => server.serversOf(id), refetchInterval: LOOK_EVERY_MS });
  const queries = useQueryClient();
  const approve = useMutation({
    mutationFn: ({ name, fingerprint }: ConversationServer) => server.approveServer(id, name, fingerprint ?? ""),
    onSettled: () => queries.invalidateQueries({ queryKey }),
  });
  const problem = approve.error ?? servers.error;
  const all = servers.data?.servers ?? [];
  return (
    <>
      {problem && (
        <p role="alert" className="problem">
          {problem.message}
        </p>
      )}
      {servers.isSuccess && all.length === 0 && <p className="hint">{t("It has none, or none has been started yet.")}</p>}
      <ul className="list">
        {all.map((each) => (
          <li key={each.name}>
            <div className="row">
              <span className="list-title">
                <strong>{visibleControls(each.name)}</strong>{" "}
                <span className={each.state.status === "ready" ? "good" : "problem"}>{words()[each.state.status]}</span>{" "}
                <span className="hint">{each.state.tools?.map(({ name }) => visibleControls(name)).join(", ")}</span>
              </span>
              {each.needs_approval && (
                <button
                  className="primary"
                  disabled={approve.isPending}
                  aria-label={t("Approve {name}", { name: each.name })}
                  onClick={() => approve.mutate(each)}
                >
                  {t("Approve")}
                </button>
              )}
            </div>
            {[each.state.reason ?? "", ...(each.state.changes ?? []), ...each.notes].filter(Boolean).map((note, index) => (
              <p key={index} className="hint">
                {visibleControls(note)}
              </p>
            ))}
          </li>
        ))}
      </ul>
    </>
  );
}
