// @vitest-environment happy-dom
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { CopyButton } from "./parts/CopyButton";

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

/** What a browser without a clipboard copies, if it does. */
function byHand(isAllowed: boolean): string[] {
  const found: string[] = [];
  vi.stubGlobal("navigator", {});
  document.execCommand = () => {
    found.push(document.querySelector("textarea")?.value ?? "");
    return isAllowed;
  };
  return found;
}

test("a text is copied", async () => {
  const writeText = vi.fn(async () => {});
  vi.stubGlobal("navigator", { clipboard: { writeText } });
  render(<CopyButton text={() => "words"} />);
  fireEvent.click(screen.getByRole("button", { name: "Copy" }));
  expect(await screen.findByText("Copied.")).toBeTruthy();
  expect(writeText).toHaveBeenCalledWith("words");
});

test("without a clipboard it is copied by hand", async () => {
  const found = byHand(true);
  render(<CopyButton text={() => "words"} look="icon" />);
  fireEvent.click(screen.getByRole("button", { name: "Copy" }));
  expect(await screen.findByRole("button", { name: "Copied." })).toBeTruthy();
  expect(found).toEqual(["words"]);
  expect(document.querySelector("textarea")).toBeNull();
});

test("what cannot be copied says so", async () => {
  byHand(false);
  render(<CopyButton text={() => "words"} look="quiet" />);
  fireEvent.click(screen.getByRole("button", { name: "Copy" }));
  expect(await screen.findByText(/does not let this page copy/)).toBeTruthy();
});
