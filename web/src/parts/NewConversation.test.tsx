// @vitest-environment happy-dom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { api } from "../api";
import { folders } from "../folders";
import { usePreferences } from "../preferences";
import { NewConversation } from "./NewConversation";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

test("the name of a workspace goes to the server as it is written, and is not looked for among the folders", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("nothing else is answered")));
  vi.spyOn(api, "offer").mockResolvedValue({ model: "m", folder: "/w" } as never);
  const start = vi.spyOn(api, "start").mockResolvedValue({ id: "c" } as never);
  const find = vi.spyOn(folders, "named").mockResolvedValue({ items: [] } as never);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <NewConversation />
    </QueryClientProvider>,
  );
  const field = await screen.findByDisplayValue("/w");
  expect(document.getElementById(field.getAttribute("aria-describedby") ?? "")?.textContent).toContain("docker:IMAGE");
  const task = screen.getByLabelText<HTMLTextAreaElement>("Task");
  const say = (text: string) => {
    fireEvent.change(task, { target: { value: text, selectionStart: text.length } });
    fireEvent.select(task);
  };
  say("Read @a");
  await waitFor(() => expect(find).toHaveBeenCalledWith("/w", "a"));
  fireEvent.change(field, { target: { value: "docker:debian:12?memory=2048" } });
  say("Read @b");
  fireEvent.submit(task.form ?? task);
  fireEvent.submit(task.form ?? task); // a key that is held
  await waitFor(() => expect(start).toHaveBeenCalledTimes(1));
  expect(start.mock.calls[0]?.[0].folder).toBe("docker:debian:12?memory=2048");
  expect(find).toHaveBeenCalledTimes(1);
});

test("the usual folder does not come back while another is written in its place", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("nothing else is answered")));
  vi.spyOn(api, "offer").mockResolvedValue({ model: "m", folder: "/w" } as never);
  usePreferences.setState({ folder: "" });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <NewConversation />
    </QueryClientProvider>,
  );
  const field = await screen.findByDisplayValue<HTMLInputElement>("/w");
  fireEvent.change(field, { target: { value: "" } });
  expect(field.value).toBe("");
  fireEvent.change(field, { target: { value: "/a" } });
  expect(field.value).toBe("/a");
});
