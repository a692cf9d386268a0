import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { FORGES, forge, type ForgeKind } from "../forge";
import { t } from "../words";
import { EntryForm, RemoveButton } from "./EntryForm";

/** Accounts where repositories are shared. Their tokens go in and never come out here. */
export function GitSettings() {
  const [kind, setKind] = useState<ForgeKind>("github");
  const accounts = useQuery({ queryKey: ["git-accounts"], queryFn: forge.accounts });
  const queries = useQueryClient();
  const renew = () => {
    void queries.invalidateQueries({ queryKey: ["changes"] }); // what can be pushed now
    return queries.invalidateQueries({ queryKey: ["git-accounts"] });
  };
  const remove = useMutation({ mutationFn: forge.removeAccount, onSuccess: renew });
  return (
    <>
      <p className="hint">
        {t("To push branches and open pull requests from the panel Changes. Choose a token that is good for little more: during a push it is handed to git in the workspace.")}
      </p>
      <ul className="list">
        {accounts.data?.map(({ host, kind }) => (
          <li key={host} className="row">
            <span className="list-title">
              <strong>{host}</strong> <span className="hint">{FORGES[kind]}</span>
            </span>
            <RemoveButton name={host} onRemove={remove.mutate} />
          </li>
        ))}
      </ul>
      {accounts.data?.length === 0 && <p className="hint">{t("There are none yet.")}</p>}
      <EntryForm
        fields={[
          { name: "address", label: t("Host"), required: true, placeholder: "github.com" },
          { name: "token", label: t("Token"), required: true, type: "password" },
        ]}
        word={t("Save")}
        onSave={({ address = "", token = "" }) => forge.saveAccount(address, kind, token).then(renew)}
        problem={remove.error ?? accounts.error}
      >
        <label>
          {t("Kind")}
          <select value={kind} onChange={(event) => setKind(event.target.value as ForgeKind)}>
            {Object.entries(FORGES).map(([name, title]) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        </label>
      </EntryForm>
    </>
  );
}
