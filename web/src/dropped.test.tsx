// @vitest-environment happy-dom
import { cleanup, createEvent, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { useDropped } from "./dropped";

afterEach(cleanup);

const FILES = { types: ["Files"], files: ["a file"] };
const TEXT = { types: ["text/plain"], files: [] };

function Page({ take }: { take: (files: FileList) => void }) {
  useDropped(take);
  return (
    <>
      <h1>Title</h1>
      <p onDrop={(event) => event.preventDefault()}>Its own</p>
      <textarea aria-label="field" />
      <dialog>In front</dialog>
    </>
  );
}

/** Drops something; gives whether the browser is kept from doing what it does with it. */
function drop(on: HTMLElement, dataTransfer: object): boolean {
  const event = createEvent.drop(on, { dataTransfer });
  fireEvent(on, event);
  return event.defaultPrevented;
}

test("files that fall beside the field are taken, and none leads out of the app", () => {
  const take = vi.fn();
  render(<Page take={take} />);
  expect(drop(screen.getByText("Title"), FILES)).toBe(true);
  expect(take).toHaveBeenCalledExactlyOnceWith(FILES.files);
  expect(drop(screen.getByText("Its own"), FILES)).toBe(true);
  screen.getByText("In front").setAttribute("open", "");
  expect(drop(screen.getByText("In front"), FILES)).toBe(true);
  expect(take).toHaveBeenCalledOnce();
});

test("text that is dragged into a field gets there", () => {
  const take = vi.fn();
  render(<Page take={take} />);
  expect(drop(screen.getByLabelText("field"), TEXT)).toBe(false);
  expect(take).not.toHaveBeenCalled();
});
