import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { figuresOf } from "../figures";
import { t } from "../words";
import { EntryForm, RemoveButton } from "./EntryForm";
import { server } from "./server";
import { WebhookSettings } from "./WebhookSettings";

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
        <WebhookSettings />
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
      <p className="hint">{t("Folders that are offered for new conversations.")}</p>
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
