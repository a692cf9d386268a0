// @vitest-environment happy-dom
import { cleanup, render } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import type { Context, Entry } from "../context";
import { EMPTY } from "../view";
import { ContextShares } from "./ContextShares";

afterEach(cleanup);

const entry = (more: Partial<Entry>): Entry => ({
  event_id: "e",
  kind: "results",
  tokens: 10,
  is_masked: false,
  left_out: 0,
  tool: null,
  text: "",
  ...more,
});

const context: Context = {
  entries: [
    entry({ kind: "summary", tokens: 100, left_out: 34, text: "What was done" }),
    entry({ tokens: 30, tool: "terminal", is_masked: true }),
    entry({ kind: "user", tokens: 2, left_out: 3, text: "\u202ego on" }),
  ],
  earlier: { entries: 7, tokens: 500 },
  kinds: { prompt: 368, summary: 100, results: 530, user: 2 },
  tokens: 1000,
  tools: [],
  window: 128_000,
  reserve: 25_600,
};

const shown = (context: Context) => render(<ContextShares context={context} meter={EMPTY.meter} />).container.textContent;

test("what the model reads is told by kind and message by message, with marks where something is missing", () => {
  const text = shown(context);
  for (const part of [
    "about 1K of 128K tokens",
    "25.6K tokens",
    "Results530 · 53 %",
    "Messages2 · < 1 %",
    "7 earlier messages50 %",
    "Summary What was doneStands for 34 earlier messages10 %",
    "terminal Left out to make room3 %",
    "3 messages before it were left out",
  ]) {
    expect(text).toContain(part);
  }
  expect(text).not.toContain("\u202e");
});

test("nothing is said about a window that nobody knows", () => {
  const text = shown({ ...context, window: null, reserve: null });
  expect(text).toContain("tokens");
  expect(text).not.toContain("Kept free");
});
