// @vitest-environment happy-dom
import { beforeEach, expect, test } from "vitest";
import { dropKey, setKey, useKey } from "./key";

const inOtherTab = (key: string | null) => {
  if (key) localStorage.setItem("deft.key", key);
  else localStorage.removeItem("deft.key");
  return () => dispatchEvent(new StorageEvent("storage", { key: "deft.key", newValue: key }));
};

beforeEach(() => setKey("old"));

test("a tab whose key was revoked takes the one that another tab was given, and leaves it there", () => {
  inOtherTab("new"); // nobody has told this one yet
  dropKey();
  expect(useKey.getState().key).toBe("new");
  expect(localStorage.getItem("deft.key")).toBe("new");
  dropKey();
  expect(useKey.getState()).toEqual({ key: null, isRefused: true });
  expect(localStorage.getItem("deft.key")).toBeNull();
});

test("a link with a key that is refused takes nobody's own away", () => {
  location.hash = "#key=wrong";
  dispatchEvent(new Event("hashchange"));
  expect(useKey.getState().key).toBe("wrong");
  expect(location.hash).toBe("");
  dropKey();
  expect(useKey.getState()).toEqual({ key: "old", isRefused: false });
  expect(localStorage.getItem("deft.key")).toBe("old");
  dropKey();
  expect(useKey.getState()).toEqual({ key: null, isRefused: true });
});

test("a key that one tab is given or forgets is given or forgotten in all", () => {
  dropKey();
  inOtherTab("new")();
  expect(useKey.getState()).toEqual({ key: "new", isRefused: false });
  inOtherTab(null)();
  expect(useKey.getState().key).toBeNull();
});
