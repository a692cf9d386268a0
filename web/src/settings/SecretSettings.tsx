import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { t } from "../words";
import { EntryForm, RemoveButton } from "./EntryForm";
import { server } from "./server";

/** Secrets that agents may use by name. Their values go in and never come out here. */
export function SecretSettings() {
  const secrets = useQuery({ queryKey: ["secrets"], queryFn: server.secrets });
  const queries = useQueryClient();
  const renew = () => queries.invalidateQueries({ queryKey: ["secrets"] });
  const remove = useMutation({ mutationFn: server.removeSecret, onSuccess: renew });
  return (
    <>
      <p className="hint">{t("Stored encrypted on the server. Nobody can read a value here again; save it anew to change it.")}</p>
      <ul className="list">
        {secrets.data?.secrets.map((secret) => (
          <li key={secret.name} className="row">
            <span className="list-title">
              <code>{secret.name}</code> <span className="hint">{secret.description}</span>
            </span>
            <RemoveButton name={secret.name} onRemove={remove.mutate} />
          </li>
        ))}
      </ul>
      <EntryForm
        fields={[
          { name: "name", label: t("Name"), required: true, placeholder: "GITHUB_TOKEN" },
          { name: "value", label: t("Value"), required: true, type: "password" },
          { name: "description", label: t("What it is for") },
        ]}
        word={t("Save")}
        onSave={({ name = "", value = "", description = "" }) => server.saveSecret(name, value, description).then(renew)}
        problem={remove.error ?? secrets.error}
      />
    </>
  );
}
