import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ListTodo } from "lucide-react";
import { useState } from "react";
import { type Mode, modeKey, plan, type PlanFile } from "../plan";
import { visibleInFile } from "../plain";
import { t } from "../words";
import { Markdown } from "./Markdown";

/** The plan of an agent that only plans, to be changed, approved or done without. It is read again when something has
 * happened (`seq`): a turn may be over before it was shown to have begun. */
export function Plan({ id, folder, seq }: { id: string; folder: string; seq: number }) {
  const queries = useQueryClient();
  /** The plan as it was changed here. */
  const [changed, setChanged] = useState<PlanFile | null>(null);
  const key = ["plan", id];
  const found = useQuery({
    queryKey: [...key, seq],
    queryFn: () => plan.read(id, folder),
    enabled: folder !== "",
    gcTime: 0,
    placeholderData: (before) => before,
  });
  const act = useMutation({
    mutationFn: async (what: "save" | "approve" | "give up") => {
      if (changed) await plan.write(id, changed);
      if (what === "approve") await plan.approve(id);
      else if (what === "give up") await plan.setMode(id, "act");
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: key });
      await queries.invalidateQueries({ queryKey: modeKey(id) });
      setChanged(null);
    },
  });
  const { data } = found;
  return (
    <section className="confirm plan" aria-label={t("The plan")}>
      <h2>{t("The plan")}</h2>
      {changed ? (
        <textarea
          autoFocus
          aria-label={t("The plan, changed")}
          className="mono"
          rows={14}
          value={changed.text}
          onChange={(event) => setChanged({ ...changed, text: event.target.value })}
        />
      ) : data ? (
        <div className="plan-text" tabIndex={0} role="group" aria-label={t("What the plan says")}>
          <Markdown text={visibleInFile(data.text)} />
        </div>
      ) : (
        !found.isPending && <p className="hint">{t("Nothing is planned yet. Say what to plan, or go on without a plan.")}</p>
      )}
      {act.isError && (
        <p role="alert" className="problem">
          {act.error.message}
        </p>
      )}
      <div className="row">
        {data && (
          <button className="primary" disabled={act.isPending} onClick={() => act.mutate("approve")}>
            {t("Approve and run")}
          </button>
        )}
        {data && !changed && <button onClick={() => setChanged(data)}>{t("Edit")}</button>}
        {changed && (
          <>
            <button disabled={act.isPending} onClick={() => act.mutate("save")}>
              {t("Save")}
            </button>
            <button onClick={() => setChanged(null)}>{t("Cancel")}</button>
          </>
        )}
        <button className="quiet" disabled={act.isPending} onClick={() => act.mutate("give up")}>
          {t("Work without a plan")}
        </button>
      </div>
    </section>
  );
}

/** Lets the agent plan before it goes on. */
export function PlanButton({ id, mode }: { id: string; mode: Mode }) {
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: () => plan.setMode(id, mode === "plan" ? "act" : "plan"),
    onSettled: () => queries.invalidateQueries({ queryKey: modeKey(id) }),
  });
  return (
    <button
      type="button"
      className="quiet"
      aria-pressed={mode === "plan"}
      disabled={change.isPending}
      title={change.error?.message ?? t("Change nothing until a plan is approved")}
      onClick={() => change.mutate()}
    >
      <ListTodo /> {t("Plan first")}
    </button>
  );
}
