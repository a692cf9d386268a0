// What a conversation has used, in figures for people.

import { numbers } from "./numbers";
import type { Stats } from "./wire";

interface Cost {
  cost: number;
  isCostKnown: boolean;
}

export interface Meter extends Cost {
  input: number;
  output: number;
  cached: number;
  /** The share of the context window that the last request took, 0 to 1; null: not known. */
  context: number | null;
  /** The same by what used it: the agent's model, the condenser's, those of sub-agents. */
  models: (Cost & { name: string; model: string; input: number; output: number; cached: number })[];
}

/** The server's name for what the agent's own model has used. */
const AGENT = "agent";

export function meterOf(stats: Stats | undefined): Meter {
  const meter: Meter = {
    cost: 0,
    isCostKnown: true,
    input: 0,
    output: 0,
    cached: 0,
    context: null,
    models: [],
  };
  for (const [name, metrics] of Object.entries(stats?.usage_to_metrics ?? {})) {
    const usage = metrics.accumulated_token_usage ?? {};
    const cost = Number(metrics.accumulated_cost ?? 0);
    const [input, output, cached] = [usage.prompt_tokens ?? 0, usage.completion_tokens ?? 0, usage.cache_read_tokens ?? 0];
    meter.models.push({ name, model: metrics.model_name ?? "", cost, isCostKnown: !metrics.cost_unknown, input, output, cached });
    meter.cost += cost;
    meter.isCostKnown &&= !metrics.cost_unknown;
    meter.input += input;
    meter.output += output;
    meter.cached += cached;
    const share = usage.context_window && usage.per_turn_token ? usage.per_turn_token / usage.context_window : 0;
    // The window that fills is the agent's own, not that of one who works for it.
    if (share > 0 && (name === AGENT || meter.context === null)) meter.context = Math.min(1, share);
  }
  return meter;
}

export function dollars(meter: Cost): string {
  const digits = meter.cost > 0 && meter.cost < 0.1 ? 4 : 2;
  return `${meter.isCostKnown ? "" : "≥ "}${money[digits](meter.cost)}`;
}

const US_DOLLARS = { style: "currency", currency: "USD", currencyDisplay: "narrowSymbol" } as const;
const inDollars = (digits: number) => numbers({ ...US_DOLLARS, minimumFractionDigits: digits, maximumFractionDigits: digits });
const money = { 2: inDollars(2), 4: inDollars(4) };

export const short = numbers({ notation: "compact", maximumFractionDigits: 1 });

/** What somebody has set, which mostly is a round sum. */
export const limitInDollars = numbers({ ...US_DOLLARS, trailingZeroDisplay: "stripIfInteger" });
