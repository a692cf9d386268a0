// @vitest-environment happy-dom
import { afterEach, expect, test } from "vitest";
import { dollars, short } from "./meter";
import { moment } from "./numbers";
import { useLanguage } from "./words";

afterEach(() => useLanguage.setState({ language: "en" }));

test("numbers and moments are written as the language that is shown writes them", () => {
  const seen = () => [dollars({ cost: 0.0123, isCostKnown: true }), short(12_345), moment("2026-03-04T12:00:00Z").slice(0, 5)];
  expect(seen()).toEqual(["$0.0123", "12.3K", "Mar 4"]);
  useLanguage.setState({ language: "de" });
  expect(seen().map((text) => text.replace(/\s/g, " "))).toEqual(["0,0123 $", "12.345", "04.03"]);
});
