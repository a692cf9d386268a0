// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { isNews, noteStatus } from "./notify";
import { usePreferences } from "./preferences";
import type { Status } from "./wire";

const shown: string[] = [];
const tones = vi.fn();

beforeEach(() => {
  shown.length = 0;
  tones.mockClear();
  usePreferences.setState({ notify: true, sound: false });
  vi.spyOn(document, "hasFocus").mockReturnValue(false);
  vi.stubGlobal("Notification", class {
    static permission = "granted";
    constructor(words: string) {
      shown.push(words);
    }
  });
  vi.stubGlobal("AudioContext", class {
    currentTime = 0;
    createOscillator = () => ({ frequency: {}, connect: () => ({ connect: () => {} }), start: tones, stop: () => {} });
    createGain = () => ({ gain: {} });
    close = async () => {};
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

test.each<[Status, string]>([
  ["finished", "Work is finished"],
  ["waiting_for_confirmation", "Work needs you"],
  ["error", "Work has failed"],
])("who looks elsewhere hears once that it is %s", (status, words) => {
  noteStatus(status, "Work", "running");
  noteStatus(status, "Work", status);
  noteStatus(status, "Work", status);
  expect(shown).toEqual([words]);
});

test("work that nobody saw running is news, and what was there when the page was opened is not", () => {
  expect(isNews("idle", "finished", false)).toBe(true);
  expect(isNews("waiting_for_confirmation", "finished", false)).toBe(true);
  expect(isNews("finished", "running", false)).toBe(false);
  noteStatus("new", "New", "finished", new Date(Date.now() + 1_000).toISOString());
  noteStatus("old", "Old", "finished", "2020-01-01T00:00:00Z");
  noteStatus("opened", "Opened", "error");
  expect(shown).toEqual(["New is finished"]);
});

test("where a page may show no notification, a sound is heard", () => {
  vi.stubGlobal("Notification", class {
    static permission = "granted";
    constructor() {
      throw new TypeError("Illegal constructor");
    }
  });
  noteStatus("phone", "Work", "running");
  noteStatus("phone", "Work", "finished");
  expect(tones).toHaveBeenCalled();
});

test("what is more exact than the status is told in its place", () => {
  noteStatus("spent", "Work", "running");
  noteStatus("spent", "Work", "error", undefined, "has used up its budget");
  expect(shown).toEqual(["Work has used up its budget"]);
});
