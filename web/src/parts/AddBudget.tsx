import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { budgetKey, budgets, type Kind, kindWords } from "../budget";
import { freshId } from "../fresh-id";
import { t } from "../words";

const USUAL: Record<Kind, number> = { cost: 1, tokens: 100_000, seconds: 600 };

/** Lets a conversation use more. */
export function AddBudget({ id, kind, then }: { id: string; kind: Kind; then: "stay" | "go on" }) {
  const queries = useQueryClient();
  const [amount, setAmount] = useState(USUAL[kind]);
  const [name, setName] = useState(freshId);
  const add = useMutation({
    mutationFn: () => budgets.add(id, name, kind, amount, then === "go on"),
    onSuccess: (budget) => {
      queries.setQueryData(budgetKey(id), budget);
      setName(freshId());
    },
  });
  return (
    <form
      className="row"
      onSubmit={(event) => {
        event.preventDefault();
        add.mutate();
      }}
    >
      <label className="inline">
        {kindWords()[kind]}
        <input
          type="number"
          required
          min={kind === "cost" ? 0.01 : 1}
          step={kind === "cost" ? 0.01 : 1}
          value={Number.isNaN(amount) ? "" : amount}
          onChange={(event) => setAmount(event.target.valueAsNumber)}
        />
      </label>
      <button className={then === "go on" ? "primary" : ""} disabled={add.isPending}>
        {then === "go on" ? t("Add and go on") : t("Add")}
      </button>
      {add.isError && (
        <span role="alert" className="problem">
          {add.error.message}
        </span>
      )}
    </form>
  );
}
