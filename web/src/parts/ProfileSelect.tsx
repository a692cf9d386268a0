import { useMutation, useQuery } from "@tanstack/react-query";
import { Cpu } from "lucide-react";
import { api } from "../api";
import { server } from "../settings/server";
import { t } from "../words";

/** Which model goes on: the one in use, or one that has a name on the server. Shown where there is a choice. */
export function ProfileSelect({ id, model, onProblem }: { id: string; model: string; onProblem: (error: unknown) => void }) {
  const profiles = useQuery({ queryKey: ["profiles"], queryFn: server.profiles, staleTime: 60_000 });
  const change = useMutation({ mutationFn: (name: string) => api.switchProfile(id, name), onError: onProblem });
  const all = profiles.data?.profiles ?? [];
  if (all.length === 0) return null;
  return (
    <label className="policy" title={t("The model that goes on")}>
      <Cpu />
      <span className="visually-hidden">{t("Model")}</span>
      <select value="" disabled={change.isPending} onChange={(event) => change.mutate(event.target.value)}>
        <option value="">{model}</option>
        {all.map((profile) => (
          <option key={profile.name} value={profile.name}>
            {t("Go on with {name}", { name: profile.name })}
          </option>
        ))}
      </select>
    </label>
  );
}
