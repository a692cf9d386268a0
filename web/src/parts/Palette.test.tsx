// @vitest-environment happy-dom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, test, vi } from "vitest";
import { api } from "../api";
import Palette from "./Palette";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

test("a conversation that is none of the newest is found, too", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("nothing else is answered")));
  const conversation = (title: string) => ({ id: title, title, workspace: { working_dir: "/w" } });
  vi.spyOn(api, "list").mockImplementation(
    async (page) => ({ items: [conversation(page ? "Long ago" : "Today")], next_page_id: page ? null : "2" }) as never,
  );
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Palette />
    </QueryClientProvider>,
  );
  await screen.findByRole("option", { name: "Today" });
  fireEvent.change(screen.getByRole("combobox"), { target: { value: "long ago" } });
  await screen.findByRole("option", { name: "Long ago" });
});
