import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { usePreferences } from "../preferences";
import { server } from "../settings/server";
import type { Answer } from "../ask";
import { policyWords } from "../safety";
import { t } from "../words";

interface Props {
  offer: Answer<"get", "/api/app"> | undefined;
  /** Nothing can begin without one. */
  isWanted?: boolean;
  /** It was tried and could not be reached. */
  isRefused?: boolean | undefined;
}

/** Which model answers, and how it is reached. */
export function ModelFields({ offer, isWanted, isRefused }: Props) {
  const { model, profile, apiKey, baseUrl } = usePreferences();
  const set = usePreferences.setState;
  const profiles = useQuery({ queryKey: ["profiles"], queryFn: server.profiles });
  const local = useQuery({ queryKey: ["local"], queryFn: server.localModels, staleTime: 60_000 });
  const near = local.data?.flatMap((place) => place.models) ?? [];
  const known = [...near, ...(offer?.model ? [offer.model] : []), ...(offer?.models ?? []), "demo"];
  const names = profiles.data?.profiles.map(({ name }) => name) ?? [];
  const isFirst = offer !== undefined && !offer.model && profiles.isSuccess && names.length === 0;
  // One that was remembered may be gone: it must not stand in the way of the model that is written here. One that was
  // just made is in the list when that has been loaded anew.
  const { data, isFetching } = profiles;
  useEffect(() => {
    const chosen = usePreferences.getState().profile;
    if (!data || isFetching || chosen === "") return;
    if (!data.profiles.some(({ name }) => name === chosen)) usePreferences.setState({ profile: "" });
  }, [data, isFetching]);
  return (
    <>
      {names.length > 0 && (
        <label>
          {t("Profile")}
          <select value={profile} onChange={(event) => set({ profile: event.target.value })}>
            <option value="">{t("none: as below")}</option>
            {names.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      )}
      {!(profile && names.includes(profile)) && (
        <>
          <label>
            {t("Model")}
            <input
              list="models"
              required={isWanted}
              value={model}
              placeholder={offer?.model ?? t("such as openai/gpt-5")}
              onChange={(event) => set({ model: event.target.value })}
            />
            <datalist id="models">
              {[...new Set(known)].map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </label>
          <details className="more" open={isRefused || isFirst}>
            <summary>{t("Key and address of the model")}</summary>
            <label>
              {t("Key")}
              <input
                type="password"
                autoComplete="off"
                value={apiKey}
                onChange={(event) => set({ apiKey: event.target.value })}
              />
            </label>
            <p className="hint">
              {t("Leave it empty if the server has one. It is stored encrypted with each conversation; this browser forgets it when the tab is closed.")}
            </p>
            <label>
              {t("Address")}
              <input
                type="url"
                placeholder="http://localhost:11434/v1"
                value={baseUrl}
                onChange={(event) => set({ baseUrl: event.target.value })}
              />
            </label>
          </details>
        </>
      )}
    </>
  );
}

/** What it may do unasked. */
export function PolicyField() {
  const { policy } = usePreferences();
  return (
    <label>
      {t("Ask before")}
      <select value={policy} onChange={(event) => usePreferences.setState({ policy: event.target.value as typeof policy })}>
        {Object.entries(policyWords()).map(([each, words]) => (
          <option key={each} value={each}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}
