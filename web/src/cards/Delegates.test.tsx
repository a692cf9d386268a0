// @vitest-environment happy-dom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { api } from "../api";
import { type Desk, DeskContext } from "../desk";
import type { Call } from "../view";
import { Delegates } from "./Delegates";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

test("an agent that begins while its call is looked at gets its link", async () => {
  const tasks = vi.spyOn(api, "delegates").mockResolvedValue({ delegates: [] } as never);
  vi.spyOn(api, "get").mockResolvedValue({ sub_conversation_ids: ["2c78a2b1-0000"] } as never);
  const queries = new QueryClient();
  const shown = (result: Call["result"]) => (
    <QueryClientProvider client={queries}>
      <DeskContext value={{ id: "c" } as Desk}>
        <Delegates call={{ id: "a", result } as Call} delegates={[{ name: "ann", task: "", kind: "" }]} />
      </DeskContext>
    </QueryClientProvider>
  );
  const { rerender } = render(shown(null));
  await waitFor(() => expect(tasks).toHaveBeenCalledTimes(1));
  expect(screen.queryByRole("button")).toBeNull();
  tasks.mockResolvedValue({ delegates: [{ name: "ann", task_id: "task_2c78a2b1" }] } as never);
  rerender(shown({ type: "answer", observation: { kind: "DelegateObservation" } } as Call["result"]));
  expect(await screen.findByRole("button", { name: "Open its conversation" })).toBeTruthy();
});
