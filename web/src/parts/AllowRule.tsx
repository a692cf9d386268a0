import { useState } from "react";
import type { Scope } from "../allow";
import { t } from "../words";

interface Props {
  /** The rule that is offered. */
  offered: string;
  isPending: boolean;
  onAllow: (rule: string, scope: Scope) => void;
}

/** Lets commands that begin alike run without asking. */
export function AllowRule({ offered, isPending, onAllow }: Props) {
  const [rule, setRule] = useState(offered);
  const choice = (scope: Scope, words: string) => (
    <button disabled={isPending || !rule.trim()} onClick={() => onAllow(rule.trim(), scope)}>
      {words}
    </button>
  );
  return (
    <details className="more">
      <summary>{t("Allow such commands from now on")}</summary>
      <div className="row">
        <label className="inline">
          {t("Those that begin with")}
          <input className="mono" value={rule} onChange={(event) => setRule(event.target.value)} />
        </label>
        {choice("conversation", t("In this conversation"))}
        {choice("project", t("In this project"))}
      </div>
    </details>
  );
}
