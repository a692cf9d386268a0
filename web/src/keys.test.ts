// @vitest-environment happy-dom
import { afterEach, expect, test } from "vitest";
import { ALL, canBeUsed, chordFor, chordOf, chordWords, isKey, panelOf, withKey } from "./keys";
import { usePreferences } from "./preferences";

afterEach(() => usePreferences.setState({ keys: {} }));

const press = (key: string, more: Partial<KeyboardEventInit> = {}) => new KeyboardEvent("keydown", { key, ...more });

test.each([
  [press("k", { ctrlKey: true }), "Mod+K"],
  [press("k", { metaKey: true }), "Mod+K"],
  [press("Backspace", { ctrlKey: true, shiftKey: true }), "Mod+Shift+Backspace"],
  [press("?", { shiftKey: true }), "?"],
  [press("/", { ctrlKey: true, shiftKey: true }), "Mod+/"], // a German keyboard
  [press("¡", { altKey: true, code: "Digit1" }), "Alt+1"], // a Mac
  [press("Shift", { shiftKey: true }), null],
])("what is pressed has one name whatever the keyboard (%#)", (event, chord) => {
  expect(chordOf(event)).toBe(chord);
});

test("something can be put on other keys, and what was there has none then", () => {
  const own = withKey({}, "stop", "Mod+K");
  expect(chordFor("stop", own)).toBe("Mod+K");
  expect(chordFor("palette", own)).toBeNull();
  usePreferences.setState({ keys: own });
  expect(isKey(press("k", { ctrlKey: true }), "stop")).toBe(true);
  expect(isKey(press("k", { ctrlKey: true }), "palette")).toBe(false);
  expect(isKey(press(".", { ctrlKey: true }), "stop")).toBe(false);
});

test("in the field for messages keys may mean something else than on the page", () => {
  const own = withKey({}, "send", "Mod+Enter");
  expect(chordFor("send", own)).toBe("Mod+Enter");
  expect(chordFor("allow", own)).toBe("Mod+Enter");
});

test("a key that writes something is no command to whoever writes", () => {
  const field = document.body.appendChild(document.createElement("textarea"));
  const heard: boolean[] = [];
  addEventListener("keydown", (event) => heard.push(isKey(event, "help")));
  field.dispatchEvent(new KeyboardEvent("keydown", { key: "?", shiftKey: true, bubbles: true }));
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "?", shiftKey: true, bubbles: true }));
  expect(heard).toEqual([false, true]);
});

test("panels have the numbers, and can have other keys", () => {
  expect(panelOf(press("2", { altKey: true, code: "Digit2" }))).toBe("files");
  usePreferences.setState({ keys: withKey({}, "panel:files", "F2") });
  expect(panelOf(press("F2"))).toBe("files");
  expect(panelOf(press("2", { altKey: true, code: "Digit2" }))).toBeNull();
});

test("letters and the keys to move with are left to whoever writes", () => {
  expect(["A", "1", "Enter", "ArrowUp", "Shift+A", "Space"].filter((chord) => canBeUsed(chord, "palette"))).toEqual([]);
  expect(["Mod+A", "Alt+Enter", "F2", "?"].filter((chord) => canBeUsed(chord, "palette"))).toHaveLength(4);
  expect(canBeUsed("Enter", "send")).toBe(true);
});

test("no two things of the page have the same keys, and each has words for them", () => {
  const chords = ALL.map((does) => chordFor(does, {}));
  expect(new Set(chords).size).toBe(chords.length);
  expect(chordWords("Mod+Shift+Backspace")).toBe("Ctrl+Shift+Backspace");
  expect(chordWords("Alt+ArrowUp")).toBe("Alt+↑");
  expect(chordWords("Mod++")).toBe("Ctrl++");
});
