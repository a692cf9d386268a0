import { expect, test } from "vitest";
import { configOf, namesOf, targetOf } from "./mcp-config";

test("a program keeps its quoted arguments and has variables", () => {
  const config = configOf({ target: 'sh -c "echo hi there"', more: "TOKEN=a=b\n\n LOG = warn" });
  expect(config).toEqual({ command: "sh", args: ["-c", "echo hi there"], env: { TOKEN: "a=b", LOG: "warn" } });
  expect(targetOf(config)).toBe("sh -c 'echo hi there'");
  expect(namesOf(config)).toEqual(["TOKEN", "LOG"]);
});

test("an address has headers", () => {
  expect(configOf({ target: " https://a.example/mcp", more: "X-Key: k:1" })).toEqual({
    url: "https://a.example/mcp",
    headers: { "X-Key": "k:1" },
  });
  expect(configOf({ target: "https://a.example/mcp", more: "" })).toEqual({ url: "https://a.example/mcp" });
});

test("what cannot be read is said", () => {
  expect(() => configOf({ target: "sh -c 'echo", more: "" })).toThrow("quote");
  expect(() => configOf({ target: "sh", more: "TOKEN" })).toThrow("TOKEN");
});
