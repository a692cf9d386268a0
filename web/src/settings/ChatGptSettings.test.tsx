// @vitest-environment happy-dom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { ChatGptSettings } from "./ChatGptSettings";

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const nobody = { vendor: "openai", connected: false, account_email: null, expires_at: null };
const somebody = { ...nobody, connected: true, account_email: "ada@example.com", expires_at: 1_900_000_000_000 };
const login = {
  device_code: "device-1",
  user_code: "ABCD-1234",
  verification_uri: "https://auth.example/codex/device",
  verification_uri_complete: null,
  expires_at: 1_900_000_000_000,
  interval_seconds: 0.01,
};

/** A server that answers as ours does, where somebody agrees when they are told to. */
function serverWith(answers: { agreed: boolean; refused?: string }): [string, unknown][] {
  const asked: [string, unknown][] = [];
  let now: object = nobody;
  vi.stubGlobal("fetch", async (address: string, sent: RequestInit) => {
    const path = address.replace("/api/llm/subscription/openai/", "");
    asked.push([path, sent.body ? JSON.parse(String(sent.body)) : null]);
    const json = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status });
    if (path === "device/start") return json(login);
    if (path === "models") return json({ vendor: "openai", models: ["gpt-5.5"] });
    if (path === "logout") now = nobody;
    if (path === "device/poll" && answers.refused) return json({ detail: answers.refused }, 404);
    if (path === "device/poll" && answers.agreed) now = somebody;
    return json(path.startsWith("/api/profiles") ? {} : now);
  });
  return asked;
}

const show = () =>
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <ChatGptSettings />
    </QueryClientProvider>,
  );

test("somebody logs in with a code, uses a model that the plan pays for, and logs out", async () => {
  const answers = { agreed: false };
  const asked = serverWith(answers);
  show();
  fireEvent.click(await screen.findByRole("button", { name: "Log in with ChatGPT" }));
  await screen.findByText("ABCD-1234");
  expect(screen.getByRole("link").getAttribute("href")).toBe("https://auth.example/codex/device");
  await vi.waitFor(() => expect(asked).toContainEqual(["device/poll", { device_code: "device-1" }]));
  expect(screen.getByText("ABCD-1234"), "nobody has agreed yet").toBeTruthy();
  answers.agreed = true;
  await screen.findByText("Logged in as ada@example.com.");
  expect(screen.queryByText("ABCD-1234")).toBeNull();
  await screen.findByRole("option", { name: "gpt-5.5" });
  fireEvent.click(screen.getByRole("button", { name: "Use as a profile" }));
  const llm = { model: "openai/gpt-5.5", auth_type: "subscription" };
  await vi.waitFor(() => expect(asked).toContainEqual(["/api/profiles/chatgpt-gpt-5.5", { llm }]));
  fireEvent.click(screen.getByRole("button", { name: "Log out" }));
  await screen.findByRole("button", { name: "Log in with ChatGPT" });
});

test("a code that is too old says so, and another one can be had", async () => {
  serverWith({ agreed: false, refused: "Subscription device login not found or expired" });
  show();
  fireEvent.click(await screen.findByRole("button", { name: "Log in with ChatGPT" }));
  expect((await screen.findByRole("alert")).textContent).toContain("expired");
  expect(screen.getByRole("button", { name: "Get another code" })).toBeTruthy();
});
