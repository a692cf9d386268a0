import { expect, test, vi } from "vitest";
import { type Budget, spentOf, totalOf, usualBudget } from "./budget";

vi.mock("./ask", () => ({}));
vi.mock("./words", () => ({}));

const budget = (limits: Budget["limits"], used = { cost: 0, tokens: 0 }, added = {}): Budget => ({ limits, added, used });

test("what was added counts, and without a limit there is none", () => {
  expect(totalOf(budget({ cost: 1.5 }, undefined, { cost: 1 }), "cost")).toBe(2.5);
  expect(totalOf(budget({ cost: null }, undefined, { cost: 1 }), "cost")).toBeNull();
  expect(totalOf(budget({}), "tokens")).toBeNull();
});

test("that is offered of which nothing is left", () => {
  const used = { cost: 2, tokens: 500 };
  expect(spentOf(budget({ cost: 1.5, tokens: 1000 }, used))).toBe("cost");
  expect(spentOf(budget({ cost: 3, tokens: 500 }, used))).toBe("tokens");
  expect(spentOf(budget({ cost: 1.5, seconds: 60 }, used, { cost: 1 }))).toBe("seconds");
  expect(spentOf(budget({ cost: 3 }, used)), "the budget of another").toBeNull();
});

test("what new conversations may use is what the settings say, as far as that makes sense", () => {
  const settings = (misc_settings: object) => ({ misc_settings }) as Parameters<typeof usualBudget>[0];
  expect(usualBudget(settings({ budget: { cost: 2, tokens: null, seconds: "x" } }))).toEqual({ cost: 2 });
  expect(usualBudget(settings({}))).toEqual({});
  expect(usualBudget(settings({ budget: null }))).toEqual({});
});
