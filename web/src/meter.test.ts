import { expect, test } from "vitest";
import { meterOf } from "./meter";

const used = (last: number, window: number, model: string) => ({
  model_name: model,
  accumulated_cost: 1,
  accumulated_token_usage: { prompt_tokens: 10, completion_tokens: 2, cache_read_tokens: 5, per_turn_token: last, context_window: window },
});

test("costs are summed, by who used which model; the window that fills is the agent's own", () => {
  const meter = meterOf({
    usage_to_metrics: { "task:1": used(90, 100, "small"), agent: used(10, 100, "large"), "task:2": used(80, 100, "small") },
  });
  expect(meter).toMatchObject({ cost: 3, input: 30, output: 6, cached: 15, context: 0.1 });
  expect(meter.models.map(({ name, model }) => [name, model])).toEqual([
    ["task:1", "small"],
    ["agent", "large"],
    ["task:2", "small"],
  ]);
});
