// @vitest-environment happy-dom
import { act, cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { useInView } from "./in-view";

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function Watched() {
  const [place, isInView] = useInView<HTMLParagraphElement>();
  return <p ref={place}>{isInView ? "seen" : "unseen"}</p>;
}

test("of changes that come at once the last one counts", () => {
  let tell: (entries: { isIntersecting: boolean }[]) => void = () => {};
  vi.stubGlobal("IntersectionObserver", class {
    constructor(listener: typeof tell) {
      tell = listener;
    }
    observe() {}
    disconnect() {}
  });
  render(<Watched />);
  act(() => tell([{ isIntersecting: false }, { isIntersecting: true }]));
  expect(screen.getByText("seen")).toBeTruthy();
  act(() => tell([{ isIntersecting: true }, { isIntersecting: false }]));
  expect(screen.getByText("unseen")).toBeTruthy();
});
