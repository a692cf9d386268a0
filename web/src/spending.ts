// What each step has used: the difference between what its conversation had used before and after it. The server tells
// that just before what the model said.

import { type Meter, meterOf } from "./meter";

export interface Spent {
  cost: number;
  isCostKnown: boolean;
  input: number;
  output: number;
  /** Of the input, what the provider had in its cache. */
  cached: number;
}

export class Spending {
  private before: Meter | null = null;
  private step: Spent | null = null;

  /** The log is seen from its first event on: nothing was used before. */
  begin(): void {
    this.before = meterOf(undefined);
  }

  /** Takes in what has been used by now. `isStep`: because a model has answered. */
  count(meter: Meter, isStep: boolean): void {
    const { before } = this;
    if (before && isStep) {
      // What sub-agents have used stands under names of their own.
      const own = meter.models.filter(({ name }) => !name.includes(":"));
      const earlier = new Map(before.models.map((model) => [model.name, model]));
      const grown = (of: "cost" | "input" | "output" | "cached") =>
        own.reduce((sum, model) => sum + model[of] - (earlier.get(model.name)?.[of] ?? 0), 0);
      this.step = {
        cost: grown("cost"),
        isCostKnown: meter.isCostKnown,
        input: grown("input"),
        output: grown("output"),
        cached: grown("cached"),
      };
    }
    this.before = meter;
  }

  /** What the step has used that is told of now; nothing where that is not known. */
  take(): { spent?: Spent } {
    const { step } = this;
    this.step = null;
    return step ? { spent: step } : {};
  }
}
