import { expect, test } from "vitest";
import { sharesOf } from "./context";
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
