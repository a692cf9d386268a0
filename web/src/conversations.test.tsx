// @vitest-environment happy-dom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, renderHook } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { api } from "./api";
import { together, usePages } from "./conversations";
import type { Conversation } from "./wire";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const one = (id: string, status = "finished") => ({ id, execution_status: status }) as Conversation;

test("an older one that something happened to stands among the newest, once", () => {
  const all = together([one("b", "running"), one("a")], [one("a"), one("b", "idle"), one("c")]);
  expect(all.map(({ id, execution_status: status }) => `${id} ${status}`)).toEqual(["b running", "a finished", "c finished"]);
});

test("of many pages only the first is asked for again and again, and after a search only that is left", async () => {
  const after: Record<string, string | null> = { "": "second", second: "third", third: null };
  const list = vi.spyOn(api, "list").mockImplementation(async (page) => ({
    items: [one(page ?? "first")],
    next_page_id: after[page ?? ""] ?? null,
  }));
  const asked = (page: string | null) => list.mock.calls.filter(([of]) => of === page).length;
  const client = new QueryClient();
  const wrapper = ({ children }: { children: ReactNode }) => <QueryClientProvider client={client}>{children}</QueryClientProvider>;
  const { result, rerender } = renderHook(({ wanted }) => usePages(wanted), { wrapper, initialProps: { wanted: 10 } });
  const ids = () => result.current.items.map(({ id }) => id);
  await act(() => vi.advanceTimersByTimeAsync(1_000));
  expect(ids()).toEqual(["first", "second", "third"]);
  expect(result.current.hasMore).toBe(false);
  const before = asked(null);
  await act(() => vi.advanceTimersByTimeAsync(30_000));
  expect(asked(null)).toBeGreaterThan(before + 4);
  expect([asked("second"), asked("third")]).toEqual([1, 1]);
  rerender({ wanted: 1 });
  expect(ids()).toEqual(["first"]);
  expect(result.current.hasMore).toBe(true);
});
