// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from "vitest";
import { unsentOf } from "./drafts";
import { api, type Start } from "./api";

afterEach(() => vi.unstubAllGlobals());

const PLANNED: Start = { model: "m", profile: "", folder: "/w", message: "Go.", images: [], files: [], external: { kind: "ACPAgent" }, policy: "never", analyzer: "rules", mode: "plan", apiKey: "", baseUrl: "" };

/** A server of which what ends so does not answer; gives what it is asked. */
function serverWithout(ending: string): string[] {
  const asked: string[] = [];
  const answers: Record<string, unknown> = {
    "/api/settings": { agent_settings: {}, conversation_settings: {} },
    "/api/conversations": { id: "c", workspace: { working_dir: "/w" } },
  };
  vi.stubGlobal("fetch", async (address: string, { method }: RequestInit) => {
    asked.push(`${method} ${address}`);
    if (`${method} ${address}`.endsWith(ending)) throw new DOMException("", "TimeoutError");
    return new Response(JSON.stringify(answers[address] ?? answers["/api/conversations"]));
  });
  return asked;
}

test("a conversation stays whose first message may have arrived", async () => {
  const asked = serverWithout("/events");
  expect((await api.start(PLANNED)).id).toBe("c");
  expect(unsentOf("c")[0]?.failure, "the conversation shows it").toContain("may still do what was asked");
  expect(asked).toContain("POST /api/conversations/c/events");
  expect(asked).not.toContain("DELETE /api/conversations/c");
});

test("a conversation goes whose first message was never sent", async () => {
  const asked = serverWithout("/plan");
  await expect(api.start(PLANNED)).rejects.toThrow();
  expect(asked).toContain("DELETE /api/conversations/c");
  expect(asked).not.toContain("POST /api/conversations/c/events");
});

test("a conversation is found although the answer to its beginning was lost", async () => {
  const asked = serverWithout("POST /api/conversations");
  expect((await api.start({ ...PLANNED, mode: "act" })).id).toBe("c");
  expect(asked.at(-1)).toMatch(/^GET \/api\/conversations\/[0-9a-f-]{36}$/);
});
