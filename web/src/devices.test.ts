// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { isOnlyHere, rightsOf } from "./devices";

test("an address of this machine is known", () => {
  expect(["localhost", "127.0.0.1", "[::1]", "a.localhost"].every(isOnlyHere)).toBe(true);
  expect(["deft.example.org", "192.168.1.2", "localhost.example.org"].some(isOnlyHere)).toBe(false);
});

test("what a device may do is told by the scopes of its key", () => {
  const device = { id: "a", created_at: "", expires_at: null };
  expect(rightsOf({ ...device, scopes: ["read"] })).toBe("look");
  expect(rightsOf({ ...device, scopes: ["read", "write"] })).toBe("steer");
  expect(rightsOf({ ...device, scopes: ["read", "secrets", "write"] })).toBe("all");
});
