import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { t } from "../words";
import { server } from "./server";

/** Secrets that agents may use by name. Their values go in and never come out here. */
export function SecretSettings() {
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const [description, setDescription] = useState("");
  const secrets = useQuery({ queryKey: ["secrets"], queryFn: server.secrets });
  const queries = useQueryClient();
  const onSuccess = () => queries.invalidateQueries({ queryKey: ["secrets"] });
  const save = useMutation({
    mutationFn: () => server.saveSecret(name.trim(), value, description.trim()),
    onSuccess: () => {
      [setName, setValue, setDescription].forEach((set) => set(""));
      return onSuccess();
    },
  });
  const remove = useMutation({ mutationFn: server.removeSecret, onSuccess });
  const problem = save.error ?? remove.error ?? secrets.error;
  return (
    <>
      <p className="hint">{t("Stored encrypted on the server. Nobody can read a value here again; save it anew to change it.")}</p>
      <ul className="list">
        {secrets.data?.secrets.map((secret) => (
          <li key={secret.name} className="row">
            <span className="list-title">
              <code>{secret.name}</code> <span className="hint">{secret.description}</span>
            </span>
            <button aria-label={t("Remove {name}", { name: secret.name })} onClick={() => remove.mutate(secret.name)}>
              {t("Remove")}
            </button>
          </li>
        ))}
      </ul>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <div className="columns">
          <label>
            {t("Name")}
            <input required placeholder="GITHUB_TOKEN" value={name} onChange={(event) => setName(event.target.value)} />
          </label>
          <label>
            {t("Value")}
            <input required type="password" autoComplete="off" value={value} onChange={(event) => setValue(event.target.value)} />
          </label>
          <label>
            {t("What it is for")}
            <input value={description} onChange={(event) => setDescription(event.target.value)} />
          </label>
        </div>
        {problem && (
          <p role="alert" className="problem">
            {problem.message}
          </p>
        )}
        <div className="row end">
          <button className="primary" disabled={save.isPending}>
            {t("Save")}
          </button>
        </div>
      </form>
    </>
  );
}
