import { expect, test } from "vitest";
import { largestOf, sharesOf } from "./context";
import { EMPTY, type View } from "./view";

test("the shares of what the model reads sum up to one", () => {
  const view: View = {
    ...EMPTY,
    briefing: { prompt: "x".repeat(60), context: "", tools: [] },
    items: [{ type: "message", id: "1", time: "", from: "user", text: "y".repeat(38), images: [] }],
  };
  const shares = sharesOf(view);
  expect(shares.map(({ kind }) => kind)).toEqual(["prompt", "tools", "user"]);
  expect(shares.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1);
  expect(shares[0]?.share).toBeCloseTo(0.6);
});

test("what takes the most room comes first", () => {
  const message = (id: string, length: number) => ({ type: "message" as const, id, time: "", from: "user" as const, text: "y".repeat(length), images: [] });
  const view: View = { ...EMPTY, items: [message("small", 10), message("none", 0), message("large", 30)] };
  expect(largestOf(view, 5).map(({ id, share }) => [id, share])).toEqual([["large", 0.75], ["small", 0.25]]);
  expect(largestOf(view, 1)).toHaveLength(1);
});
