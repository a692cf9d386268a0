import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { figuresOf } from "../figures";
import { t } from "../words";
import { EntryForm, RemoveButton } from "./EntryForm";
import { server } from "./server";

/** What the server knows and does besides conversations. */
export function ServerSettings() {
  return (
    <>
      <fieldset>
        <legend>{t("Workspaces")}</legend>
        <Workspaces />
      </fieldset>
      <fieldset>
        <legend>{t("Webhooks")}</legend>
        <Webhooks />
      </fieldset>
      <fieldset>
        <legend>{t("Figures")}</legend>
        <Figures />
      </fieldset>
    </>
  );
}

/** Folders that are offered for new conversations. */
function Workspaces() {
  const found = useQuery({ queryKey: ["workspaces"], queryFn: server.workspaces });
  const queries = useQueryClient();
  const renew = () => queries.invalidateQueries({ queryKey: ["workspaces"] });
  const remove = useMutation({ mutationFn: server.removeWorkspace, onSuccess: renew });
  return (
    <>
      <ul className="list">
        {found.data?.workspaces?.map(({ path }) => (
          <li key={path} className="row">
            <code className="list-title">{path}</code>
            <RemoveButton name={path} onRemove={remove.mutate} />
          </li>
        ))}
      </ul>
      <EntryForm
        fields={[{ name: "path", label: t("Folder"), required: true, placeholder: "/home/me/project" }]}
        word={t("Add")}
        onSave={({ path = "" }) => server.addWorkspace(path).then(renew)}
        problem={remove.error ?? found.error}
      />
    </>
  );
}

/** Who is told of all that happens, and whether it arrives. They are set up where the server is started. */
function Webhooks() {
  const found = useQuery({ queryKey: ["webhooks"], queryFn: server.webhooks });
  const queries = useQueryClient();
  const again = useMutation({
    mutationFn: server.redeliver,
    onSuccess: () => queries.invalidateQueries({ queryKey: ["webhooks"] }),
  });
  const problem = again.error ?? found.error;
  return (
    <>
      {found.data?.webhooks.length === 0 && (
        <p className="hint">{t("There are none. They are set up where the server is started: see its documentation.")}</p>
      )}
      <ul className="list">
        {found.data?.webhooks.map((hook) => (
          <li key={hook.id}>
            <div className="row">
              <code className="list-title">{hook.base_url}</code>
              {hook.dead_letter_count > 0 && (
                <button disabled={again.isPending} onClick={() => again.mutate(hook.id)}>
                  {t("Try {n} once more", { n: hook.dead_letter_count })}
                </button>
              )}
            </div>
            <p className="hint">
              {t("{n} delivered, {failed} attempts failed, {waiting} conversations wait", {
                n: hook.delivered,
                failed: hook.failed_attempts,
                waiting: hook.waiting_conversations,
              })}
            </p>
            {hook.waiting.map(
              ({ conversation_id, last_error }) =>
                last_error && (
                  <p key={conversation_id} className="problem">
                    {last_error}
                  </p>
                ),
            )}
          </li>
        ))}
      </ul>
      {problem && (
        <p role="alert" className="problem">
          {problem.message}
        </p>
      )}
    </>
  );
}

/** How the server is doing, by the figures that it has for Prometheus. */
function Figures() {
  const page = useQuery({ queryKey: ["figures"], queryFn: server.figures, refetchInterval: 5_000 });
  return (
    <>
      {page.isError && (
        <p role="alert" className="problem">
          {page.error.message}
        </p>
      )}
      <dl className="facts-list">
        {figuresOf(page.data ?? "").map(({ name, help, value }) => (
          <div key={name} title={name}>
            <dt>{help}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
