// @vitest-environment happy-dom
import { cleanup, render, screen } from "@testing-library/react";
import { Suspense } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { lazily } from "./lazily";
import { Guard } from "./parts/Guard";
import { LazyDialog } from "./parts/LazyDialog";

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => {}));
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const unreachable = () => Promise.reject(new Error("Failed to fetch"));

test("a part that cannot be loaded at once is tried again", async () => {
  const load = vi.fn(async () => ({ default: () => <p>there</p> })).mockImplementationOnce(unreachable);
  const Part = lazily(load);
  render(<Suspense><Part /></Suspense>);
  expect(await screen.findByText("there")).toBeTruthy();
  expect(load).toHaveBeenCalledTimes(2);
});

test("a part that cannot be loaded at all leaves the rest of the page as it is", async () => {
  const Part = lazily(unreachable as () => Promise<{ default: () => null }>);
  render(
    <>
      <p>the rest</p>
      <Guard instead={() => "plain text"}>
        <Suspense>
          <Part />
        </Suspense>
      </Guard>
      <LazyDialog onClose={() => {}}>
        <Part />
      </LazyDialog>
    </>,
  );
  expect((await screen.findByRole("alert", undefined, { timeout: 4_000 })).textContent).toContain("Failed to fetch");
  expect(screen.getByText(/plain text/)).toBeTruthy();
  expect(screen.getByText("the rest")).toBeTruthy();
});
