import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { allDecisions, allow, providedWords } from "../allow";
import { visibleControls } from "../plain";
import { usePreferences } from "../preferences";
import { shownConversation } from "../route";
import { type Analyzer, analyzerWords, type Policy, policyWords } from "../safety";
import { t } from "../words";
import { RemoveButton } from "./EntryForm";

/** What runs without asking: what was allowed, and what was decided about things that projects bring along. */
export function SafetySettings() {
  const id = shownConversation();
  return (
    <>
      <Judging />
      <fieldset>
        <legend>{t("Commands that are allowed")}</legend>
        {id ? <Rules id={id} of="commands" /> : <p className="hint">{t("Open a conversation to see which commands run in it, or in its project, without asking.")}</p>}
      </fieldset>
      <fieldset>
        <legend>{t("Hosts that are allowed")}</legend>
        {id ? <Rules id={id} of="hosts" /> : <p className="hint">{t("Open a conversation to see which hosts it, or its project, may reach.")}</p>}
      </fieldset>
      <fieldset>
        <legend>{t("What projects may bring along")}</legend>
        <Decisions />
      </fieldset>
    </>
  );
}

/** What new conversations ask before, and who says how risky an action is. */
function Judging() {
  const { policy, analyzer } = usePreferences();
  const set = usePreferences.setState;
  return (
    <fieldset>
      <legend>{t("New conversations")}</legend>
      <div className="columns">
        <label>
          {t("Ask before")}
          <select value={policy} onChange={(event) => set({ policy: event.target.value as Policy })}>
            {Object.entries(policyWords()).map(([each, words]) => (
              <option key={each} value={each}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <label>
          {t("Who says what is risky")}
          <select value={analyzer} onChange={(event) => set({ analyzer: event.target.value as Analyzer })}>
            {Object.entries(analyzerWords()).map(([each, words]) => (
              <option key={each} value={each}>
                {words}
              </option>
            ))}
          </select>
        </label>
      </div>
      <p className="hint">{t("The highest risk that one of them sees counts. Below the message field this is changed for one conversation.")}</p>
    </fieldset>
  );
}

const kept = {
  commands: { list: allow.rules, remove: allow.removeRule },
  hosts: { list: allow.hosts, remove: allow.removeHost },
};

/** What somebody has allowed in a conversation or its project. */
function Rules({ id, of }: { id: string; of: keyof typeof kept }) {
  const queries = useQueryClient();
  const queryKey = ["allowed", of, id];
  const rules = useQuery({ queryKey, queryFn: () => kept[of].list(id) });
  const remove = useMutation({
    mutationFn: (rule: string) => kept[of].remove(id, rule),
    onSuccess: () => queries.invalidateQueries({ queryKey }),
  });
  const problem = remove.error ?? rules.error;
  return (
    <>
      {rules.data?.length === 0 && <p className="hint">{t("There are none yet.")}</p>}
      <ul className="list">
        {rules.data?.map(({ rule, scope }) => (
          <li key={`${scope} ${rule}`} className="row">
            <span className="list-title">
              <code>{visibleControls(rule)}</code>{" "}
              <span className="hint">{scope === "project" ? t("in this project") : t("in this conversation")}</span>
            </span>
            <RemoveButton name={rule} onRemove={remove.mutate} />
          </li>
        ))}
      </ul>
      {problem && (
        <p role="alert" className="problem">
          {problem.message}
        </p>
      )}
    </>
  );
}

/** Decisions that were made in this browser, and those about the conversation that is shown, wherever they were made. */
function Decisions() {
  const id = shownConversation();
  const queries = useQueryClient();
  const own = usePreferences((preferences) => preferences.decisions);
  const told = useQuery({ queryKey: ["trust", id, "settings"], queryFn: () => allow.trust(id ?? ""), enabled: id !== null });
  const decisions = id && told.data ? allDecisions(own, id, told.data) : own;
  const forget = useMutation({
    mutationFn: async (fingerprint: string) => {
      const made = decisions.find((decision) => decision.fingerprint === fingerprint);
      if (made) await allow.decide(made.conversation, fingerprint, "forget");
    },
    onSuccess: (_, fingerprint) => {
      usePreferences.setState(({ decisions }) => ({
        decisions: decisions.filter((decision) => decision.fingerprint !== fingerprint),
      }));
      return queries.invalidateQueries({ queryKey: ["trust"] });
    },
  });
  const problem = forget.error ?? told.error;
  return (
    <>
      {decisions.length === 0 && <p className="hint">{t("Nothing was decided yet.")}</p>}
      <ul className="list">
        {decisions.map(({ fingerprint, path, kind, decision }) => (
          <li key={fingerprint} className="row">
            <span className="list-title">
              <code>{visibleControls(path)}</code> <span className="hint">{providedWords()[kind]}</span>
            </span>
            <span className={decision === "allow" ? "good" : "bad"}>{decision === "allow" ? t("Allowed") : t("Never")}</span>
            <button aria-label={t("Forget about {name}", { name: path })} onClick={() => forget.mutate(fingerprint)}>
              {t("Forget")}
            </button>
          </li>
        ))}
      </ul>
      {!id && <p className="hint">{t("Open a conversation to see what was decided about its project elsewhere.")}</p>}
      {problem && (
        <p role="alert" className="problem">
          {problem.message}
        </p>
      )}
    </>
  );
}
