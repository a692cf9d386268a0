// @vitest-environment happy-dom
import { act, cleanup, renderHook } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { draftOf, forgetDraft, keepDraft, keepUnsent, unsentOf, useDraftPictures } from "./drafts";

afterEach(() => {
  vi.unstubAllGlobals();
  sessionStorage.clear();
});

const message = { id: "m", text: "precious", images: ["data:image/png;base64,AAAA"], failure: "The network is gone." };

test("what is written is there again, until it is gone", () => {
  keepDraft("c", "half a sen");
  expect([draftOf("c"), draftOf("other")]).toEqual(["half a sen", ""]);
  keepDraft("c", "");
  expect(draftOf("c")).toBe("");
});

test("pictures that were added are there again, as far as there is room", () => {
  const written = () => renderHook(() => useDraftPictures("c")).result;
  const one = written();
  act(() => one.current[1](["data:a", "data:b"]));
  cleanup();
  expect(written().current[0]).toEqual(["data:a", "data:b"]);
  cleanup();
  forgetDraft("c");
  expect(written().current[0]).toEqual([]);
  vi.stubGlobal("sessionStorage", {
    getItem: () => null,
    removeItem: () => {},
    setItem() {
      throw new DOMException("full", "QuotaExceededError");
    },
  });
  const other = written();
  act(() => other.current[1](["data:c"]));
  expect(other.current[0]).toEqual(["data:c"]);
  cleanup();
});

test("what could not be sent is there again, until the log has it", () => {
  keepUnsent("c", [message]);
  expect([unsentOf("c"), unsentOf("other")]).toEqual([[message], []]);
  keepUnsent("c", []);
  expect(unsentOf("c")).toEqual([]);
});

test("where there is no room for pictures, the words are kept", () => {
  const kept = new Map<string, string>();
  vi.stubGlobal("sessionStorage", {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => {
      if (value.includes("base64")) throw new DOMException("full", "QuotaExceededError");
      kept.set(name, value);
    },
  });
  keepUnsent("c", [message]);
  expect(unsentOf("c").map(({ text, images }) => [text, images])).toEqual([["precious", []]]);
});
