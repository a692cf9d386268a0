import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Wallet } from "lucide-react";
import { useEffect, useState } from "react";
import { type Budget, budgetKey, budgets, KINDS, kindWords, type Limits, totalOf, useBudget } from "../budget";
import { dollars, limitInDollars, type Meter, short } from "../meter";
import type { Status } from "../wire";
import { t } from "../words";
import { AddBudget } from "./AddBudget";
import { Dialog } from "./Dialog";

/** How much may be used; a click changes it. */
export function BudgetMeter({ id, status, meter }: { id: string; status: Status; meter: Meter }) {
  const [isOpen, setOpen] = useState(false);
  const queries = useQueryClient();
  const budget = useBudget(id).data;
  const used = budget && shown(budget, meter);
  useEffect(() => void queries.invalidateQueries({ queryKey: budgetKey(id) }), [id, status, queries]);
  return (
    <div className={budget && totalOf(budget, "cost") !== null ? "budget of-cost" : "budget"}>
      <dt className={used ? "" : "visually-hidden"}>{t("Budget")}</dt>
      <dd>
        <button className="quiet tight" aria-haspopup="dialog" title={t("Set or add")} onClick={() => setOpen(true)}>
          {used ? <span className="in-signs" aria-hidden="true">{`${used.used}/${used.limit}`}</span> : <Wallet className="in-signs" />}
          <span className="in-words">{used ? t("{used} of {limit}", used) : t("Set a budget")}</span>
        </button>
        {isOpen && (
          <Dialog title={t("Budget")} onClose={() => setOpen(false)}>
            {budget ? <Form id={id} budget={budget} onDone={() => setOpen(false)} /> : t("Loading…")}
          </Dialog>
        )}
      </dd>
    </div>
  );
}

/** What is used of what may be; null: there is no limit. */
function shown(budget: Budget, meter: Meter): { used: string; limit: string } | null {
  const cost = totalOf(budget, "cost");
  const tokens = totalOf(budget, "tokens");
  if (cost !== null) return { used: dollars(meter), limit: limitInDollars(cost) };
  if (tokens !== null) return { used: short(meter.input + meter.output), limit: short(tokens) };
  return null;
}

function Form({ id, budget, onDone }: { id: string; budget: Budget; onDone: () => void }) {
  const queries = useQueryClient();
  const set = useMutation({
    mutationFn: (limits: Limits) => budgets.set(id, limits),
    onSuccess: (budget) => {
      queries.setQueryData(budgetKey(id), budget);
      onDone();
    },
  });
  const limited = KINDS.filter((kind) => totalOf(budget, kind) !== null);
  return (
    <>
      {limited.length > 0 && (
        <section aria-label={t("Add to it")}>
          <h3>{t("Add to it")}</h3>
          {limited.map((kind) => (
            <AddBudget key={kind} id={id} kind={kind} then="stay" />
          ))}
        </section>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const fields = new FormData(event.currentTarget);
          const limits: Limits = { agents: budget.limits.agents ?? null };
          for (const kind of KINDS) limits[kind] = fields.get(kind) ? Number(fields.get(kind)) : null;
          set.mutate(limits);
        }}
      >
        <p className="hint">{t("What is left empty is not limited. What was added comes on top.")}</p>
        {KINDS.map((kind) => (
          <label key={kind}>
            {t("At most: {what}", { what: kindWords()[kind] })}
            <input
              name={kind}
              type="number"
              min={0}
              step={kind === "cost" ? "any" : 1}
              defaultValue={budget.limits[kind] ?? ""}
            />
          </label>
        ))}
        {set.isError && (
          <p role="alert" className="problem">
            {set.error.message}
          </p>
        )}
        <div className="row end">
          <button type="button" onClick={onDone}>
            {t("Cancel")}
          </button>
          <button className="primary" disabled={set.isPending}>
            {t("Save")}
          </button>
        </div>
      </form>
    </>
  );
}
