import { expect, test } from "vitest";
import { ago } from "./ago";

test("how long ago something was is told in its largest unit, and by its date after a week", () => {
  const now = Date.parse("2026-03-20T12:00:00Z");
  const cases = [
    ["2026-03-20T12:00:30Z", "now"],
    ["2026-03-20T11:18:00Z", "42m"],
    ["2026-03-20T07:00:00Z", "5h"],
    ["2026-03-17T12:00:00Z", "3d"],
    ["2026-03-01T12:00:00Z", "Mar 1"],
    ["no time", ""],
  ] as const;
  for (const [time, shown] of cases) expect(ago(time, now)).toBe(shown);
});
