import { useMutation } from "@tanstack/react-query";
import { ShieldAlert, ShieldCheck, ShieldOff } from "lucide-react";
import { usePreferences } from "../preferences";
import { type Policy, policyOf, policyWords, setSafety } from "../safety";
import { t } from "../words";

const ICONS = { risky: ShieldAlert, always: ShieldCheck, never: ShieldOff };

/** Which actions of this conversation wait for a word, and how that is changed. `kind`: the policy in force. */
export function PolicySelect({ id, kind, onProblem }: { id: string; kind: string; onProblem: (error: unknown) => void }) {
  const analyzer = usePreferences((preferences) => preferences.analyzer);
  const change = useMutation({ mutationFn: (policy: Policy) => setSafety(id, policy, analyzer), onError: onProblem });
  const policy = policyOf(kind);
  const Icon = ICONS[policy ?? "risky"];
  return (
    <label className={`policy policy-${policy ?? "other"}`} title={t("What it asks you before it does it")}>
      <Icon />
      <span className="visually-hidden">{t("Ask before")}</span>
      <select
        value={policy ?? ""}
        disabled={change.isPending}
        onChange={(event) => change.mutate(event.target.value as Policy)}
      >
        {policy === null && <option value="">{kind}</option>}
        {Object.entries(askWords()).map(([each, words]) => (
          <option key={each} value={each}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

const askWords = (): Record<Policy, string> => {
  const what = policyWords();
  const ask = (policy: Policy) => t("Ask before {what}", { what: what[policy] });
  return { risky: ask("risky"), always: ask("always"), never: t("Never ask") };
};
