// @vitest-environment happy-dom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { allow, type AskedHost } from "../allow";
import { HostQuestions } from "./HostQuestions";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const show = (questions: AskedHost[]) =>
  render(
    <QueryClientProvider client={new QueryClient()}>
      <HostQuestions id="c" questions={questions} />
    </QueryClientProvider>,
  );

test("each host is answered by itself, as far as the person says", async () => {
  const sent = vi.spyOn(allow, "answerHost").mockResolvedValue({ questions: [] });
  const asked = { host: "a.example", port: 443 };
  show([asked]);
  expect(screen.getByText("a.example:443")).toBeTruthy();
  for (const [button, word] of [
    ["Once", "once"],
    ["In this conversation", "conversation"],
    ["In this project", "project"],
    ["Deny", "deny"],
  ] as const) {
    fireEvent.click(screen.getByRole("button", { name: button }));
    await waitFor(() => expect(sent).toHaveBeenLastCalledWith("c", asked, word));
    await waitFor(() => expect(screen.getByRole("button", { name: button }).hasAttribute("disabled")).toBe(false));
  }
});

test("where nothing is asked, nothing is shown", () => {
  expect(show([]).container.innerHTML).toBe("");
});
