// @vitest-environment happy-dom
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import type { Stream } from "../stream";
import { EMPTY, type View } from "../view";
import Replay from "./Replay";

afterEach(cleanup);

test("earlier pages are loaded to the first, also behind one with nothing to show", () => {
  vi.stubGlobal("ResizeObserver", class {
    observe() {}
    unobserve() {}
    disconnect() {}
  });
  const fold = { earlier: 500 };
  const load = vi.fn();
  const stream = { fold, load } as unknown as Stream;
  const view: View = { ...EMPTY, isCurrent: true, hasEarlier: true, items: [{ type: "message", id: "m", time: "", from: "user", text: "x", images: [] }] };
  const shown = (view: View) => <Replay view={view} stream={stream} onClose={() => {}} />;
  const { rerender } = render(shown(view));
  expect(load).toHaveBeenCalledTimes(1);
  fold.earlier = 400;
  rerender(shown({ ...view }));
  expect(load).toHaveBeenCalledTimes(2);
  rerender(shown({ ...view, hasEarlier: false }));
  expect(screen.getByText("1 of 1")).toBeTruthy();
  vi.unstubAllGlobals();
});
