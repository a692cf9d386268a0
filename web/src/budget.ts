// What a conversation may use. The stream tells what it has used, but not what it may.

import { useQuery } from "@tanstack/react-query";
import { ask, on } from "./ask";
import type { components } from "./generated/api";
import type { Fields } from "./wire";
import { t } from "./words";

export type Kind = "cost" | "tokens" | "seconds";
export const KINDS = ["cost", "tokens", "seconds"] as const satisfies readonly Kind[];

/** What is missing is not limited. */
export type Limits = components["schemas"]["Amounts"];
export type Budget = components["schemas"]["Budget"];

/** The code of a run that stopped because nothing is left to use. */
export const SPENT = "MaxBudgetReached";

export const kindWords = (): Record<Kind, string> => ({
  cost: t("Dollars"),
  tokens: t("Tokens"),
  seconds: t("Seconds of a run"),
});

export const budgets = {
  get: (id: string) => ask("get", "/api/conversations/{conversation_id}/budget", on(id)),
  set: (id: string, limits: Limits) => ask("put", "/api/conversations/{conversation_id}/budget", { ...on(id), body: limits }),
  /** Adds, and has the agent go on or not. The name of what is added makes it safe to ask again. */
  add: (id: string, name: string, kind: Kind, amount: number, run: boolean) =>
    ask("post", "/api/conversations/{conversation_id}/budget", { ...on(id), body: { id: name, add: { [kind]: amount }, run } }),
};

/** What new conversations may use, by the server's settings. */
export function usualBudget({ misc_settings: kept }: components["schemas"]["Settings"]): Limits {
  const budget = (kept as Fields | undefined)?.["budget"] as Limits | null | undefined;
  return Object.fromEntries(KINDS.flatMap((kind) => (typeof budget?.[kind] === "number" ? [[kind, budget[kind]]] : [])));
}

/** The limit with what was added to it; null: there is none. */
export function totalOf({ limits, added }: Budget, kind: Kind): number | null {
  const limit = limits[kind];
  return limit === null || limit === undefined ? null : limit + (added[kind] ?? 0);
}

/** What a conversation that stopped at its budget has none left of; null: it was not its own budget. */
export function spentOf(budget: Budget): Kind | null {
  const isSpent = (kind: "cost" | "tokens") => budget.used[kind] >= (totalOf(budget, kind) ?? Infinity);
  if (isSpent("cost")) return "cost";
  if (isSpent("tokens")) return "tokens";
  return totalOf(budget, "seconds") === null ? null : "seconds";
}

export const budgetKey = (id: string) => ["budget", id];

export function useBudget(id: string) {
  return useQuery({ queryKey: budgetKey(id), queryFn: () => budgets.get(id), retry: false });
}
