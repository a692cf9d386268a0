// What a conversation has used, in figures for people.

import type { Stats } from "./wire";

export interface Meter {
  cost: number;
  isCostKnown: boolean;
  input: number;
  output: number;
  cached: number;
  /** The share of the context window that the last request took, 0 to 1; null: not known. */
  context: number | null;
}

export function meterOf(stats: Stats | undefined): Meter {
  const meter: Meter = { cost: 0, isCostKnown: true, input: 0, output: 0, cached: 0, context: null };
  for (const metrics of Object.values(stats?.usage_to_metrics ?? {})) {
    const usage = metrics.accumulated_token_usage ?? {};
    meter.cost += Number(metrics.accumulated_cost ?? 0);
    meter.isCostKnown &&= !metrics.cost_unknown;
    meter.input += usage.prompt_tokens ?? 0;
    meter.output += usage.completion_tokens ?? 0;
    meter.cached += usage.cache_read_tokens ?? 0;
    if (usage.context_window && usage.per_turn_token) {
      meter.context = Math.max(meter.context ?? 0, Math.min(1, usage.per_turn_token / usage.context_window));
    }
  }
  return meter;
}

export function dollars(meter: Pick<Meter, "cost" | "isCostKnown">): string {
  const digits = meter.cost > 0 && meter.cost < 0.1 ? 4 : 2;
  return `${meter.isCostKnown ? "" : "≥ "}$${meter.cost.toFixed(digits)}`;
}

export function short(count: number): string {
  return Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(count);
}
