// @vitest-environment happy-dom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import type { ReactElement } from "react";
import { afterEach, expect, test, vi } from "vitest";
import { allow } from "../allow";
import { FileView } from "../panels/FileView";
import { workspace } from "../workspace";
import { Plan } from "./Plan";
import { Queue } from "./Queue";
import { Trust } from "./Trust";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const HOSTILE = "touch HIDDEN #\recho hi";
const SHOWN = /touch HIDDEN #␍echo hi/;

function show(element: ReactElement): void {
  vi.spyOn(workspace, "read").mockResolvedValue(new Blob([HOSTILE]));
  render(<QueryClientProvider client={new QueryClient()}>{element}</QueryClientProvider>);
}

test("a message that waits is shown whole", () => {
  show(<Queue id="c" waiting={[{ id: "m", text: HOSTILE } as never]} />);
  expect(screen.getByText(SHOWN).title).toMatch(SHOWN);
});

test("a plan is shown whole", async () => {
  show(<Plan id="c" folder="/w" seq={0} />);
  expect(await screen.findByText(SHOWN)).toBeTruthy();
});

test("a file is shown whole", async () => {
  show(<FileView conversation="c" folder="/w" file={{ name: "a.sh", path: "/w/a.sh", kind: "file", size: 9 } as never} onBack={() => {}} />);
  expect(await screen.findByText(/echo hi/)).toBeTruthy();
  expect(document.body.textContent).toMatch(SHOWN);
});

test("what a project brings along is shown whole, as is its name", async () => {
  const provided = { path: "hooks\r.json", kind: "hooks", fingerprint: "f" } as const;
  vi.spyOn(allow, "trust").mockResolvedValue({ undecided: [provided], decided: [] });
  show(<Trust id="c" status="idle" folder="/w" />);
  expect(await screen.findByText("hooks␍.json")).toBeTruthy();
  const details = document.querySelector("details");
  if (details) details.open = true;
  fireEvent(details ?? document.body, new Event("toggle"));
  expect(await screen.findByText(SHOWN)).toBeTruthy();
});
