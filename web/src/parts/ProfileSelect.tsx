import { useMutation } from "@tanstack/react-query";
import { Cpu } from "lucide-react";
import { api } from "../api";
import { useProfiles } from "../profiles";
import { t } from "../words";

/** Which model goes on: the one in use, or one that has a name on the server. Shown where there is a choice. */
export function ProfileSelect({ id, model, onProblem }: { id: string; model: string; onProblem: (error: unknown) => void }) {
  const profiles = useProfiles();
  const change = useMutation({ mutationFn: (name: string) => api.switchProfile(id, name), onError: onProblem });
  if (profiles.length === 0) return null;
  return (
    <label className="policy" title={t("The model that goes on")}>
      <Cpu />
      <span className="visually-hidden">{t("Model")}</span>
      <select value="" disabled={change.isPending} onChange={(event) => change.mutate(event.target.value)}>
        <option value="">{model}</option>
        {profiles.map((profile) => (
          <option key={profile.name} value={profile.name}>
            {t("Go on with {name}", { name: profile.name })}
          </option>
        ))}
      </select>
    </label>
  );
}
