import { expect, test } from "vitest";
import { externalAgent } from "./external-agent";

test("an external agent is named, or started by its command", () => {
  expect(externalAgent("deft", "left over")).toBeNull();
  expect(externalAgent("codex", "left over")).toEqual({ agent_kind: "acp", acp_server: "codex" });
  expect(externalAgent("command", " my-agent --acp ")).toEqual({ agent_kind: "acp", acp_command: "my-agent --acp" });
});
