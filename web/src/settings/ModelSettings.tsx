import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api";
import { ModelFields } from "../parts/ModelFields";
import { usePreferences } from "../preferences";
import { t } from "../words";
import { ChatGptSettings } from "./ChatGptSettings";
import { Findings } from "./Findings";
import { type Llm, server } from "./server";

/** Which model new conversations use, and the models that have names on the server. */
export function ModelSettings() {
  const offer = useQuery({ queryKey: ["offer"], queryFn: api.offer, staleTime: Infinity });
  const profiles = useQuery({ queryKey: ["profiles"], queryFn: server.profiles });
  const chosen = usePreferences((preferences) => preferences.profile);
  const queries = useQueryClient();
  const check = useMutation({ mutationFn: (name: string) => server.checkModel(null, name) });
  const remove = useMutation({
    mutationFn: server.removeProfile,
    onSuccess: (_, name) => {
      if (name === chosen) usePreferences.setState({ profile: "" });
      void queries.invalidateQueries({ queryKey: ["profiles"] });
    },
  });
  return (
    <>
      <fieldset>
        <legend>{t("New conversations")}</legend>
        <ModelFields offer={offer.data} />
      </fieldset>
      <fieldset>
        <legend>{t("Profiles on this server")}</legend>
        <p className="hint">{t("A model with its key and address under a name. The key stays on the server.")}</p>
        <ul className="list">
          {profiles.data?.profiles.map(({ name, model, base_url }) => (
            <li key={name}>
              <div className="row">
                <span className="list-title">
                  <strong>{name}</strong> <code>{model}</code> {base_url && <span className="hint">{base_url}</span>}
                </span>
                <button aria-pressed={chosen === name} onClick={() => usePreferences.setState({ profile: chosen === name ? "" : name })}>
                  {chosen === name ? t("In use") : t("Use")}
                </button>
                <button disabled={check.isPending} aria-label={t("Test {name}", { name })} onClick={() => check.mutate(name)}>
                  {t("Test")}
                </button>
                <button aria-label={t("Remove {name}", { name })} onClick={() => remove.mutate(name)}>
                  {t("Remove")}
                </button>
              </div>
              {check.variables === name && <Findings check={check} />}
            </li>
          ))}
        </ul>
        {remove.isError && (
          <p role="alert" className="problem">
            {remove.error.message}
          </p>
        )}
        <ProfileForm />
      </fieldset>
      <ChatGptSettings />
    </>
  );
}

function ProfileForm() {
  const [name, setName] = useState("");
  const [model, setModel] = useState("");
  const [key, setKey] = useState("");
  const [address, setAddress] = useState("");
  const queries = useQueryClient();
  const llm: Llm = { model: model.trim(), ...(key && { api_key: key }), ...(address && { base_url: address.trim() }) };
  const save = useMutation({
    mutationFn: () => server.saveProfile(name.trim(), llm),
    onSuccess: () => {
      usePreferences.setState({ profile: name.trim() });
      [setName, setModel, setKey, setAddress].forEach((set) => set(""));
      void queries.invalidateQueries({ queryKey: ["profiles"] });
    },
  });
  const check = useMutation({ mutationFn: () => server.checkModel(llm, null) });
  return (
    <details className="more">
      <summary>{t("Add a profile")}</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <div className="columns">
          <label>
            {t("Name")}
            <input required value={name} onChange={(event) => setName(event.target.value)} />
          </label>
          <label>
            {t("Model of the profile")}
            <input required placeholder={t("such as openai/gpt-5")} value={model} onChange={(event) => setModel(event.target.value)} />
          </label>
          <label>
            {t("Key of the profile")}
            <input type="password" autoComplete="off" value={key} onChange={(event) => setKey(event.target.value)} />
          </label>
          <label>
            {t("Address of the profile")}
            <input type="url" placeholder="http://localhost:11434/v1" value={address} onChange={(event) => setAddress(event.target.value)} />
          </label>
        </div>
        <Findings check={check} />
        {save.isError && (
          <p role="alert" className="problem">
            {save.error.message}
          </p>
        )}
        <div className="row end">
          <button type="button" disabled={!model.trim() || check.isPending} onClick={() => check.mutate()}>
            {check.isPending ? t("Testing…") : t("Test the connection")}
          </button>
          <button className="primary" disabled={save.isPending}>
            {t("Save")}
          </button>
        </div>
      </form>
    </details>
  );
}
