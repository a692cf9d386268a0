// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from "vitest";
import { api } from "./api";
import { forge } from "./forge";
import { workspace } from "./workspace";

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

/** A server whose answers come after every limit. */
function lateServer(): void {
  vi.spyOn(AbortSignal, "timeout").mockReturnValue(AbortSignal.abort(new DOMException("", "TimeoutError")));
  vi.stubGlobal("fetch", async (_: string, { signal }: RequestInit) => {
    signal?.throwIfAborted();
    return new Response("{}");
  });
}

test("a question that is not answered in time says so, and not that the server is away", async () => {
  lateServer();
  await expect(api.get("c")).rejects.toThrow("has not answered within 60 seconds");
});

test("files on their way, commits and work of models take as long as they take", async () => {
  lateServer();
  await workspace.write("c", "/w/large", new Blob(["x"]));
  await workspace.read("c", "/w/large");
  await api.askAside("c", "why?");
  await expect(workspace.run("c", "git commit", "/w")).rejects.toThrow("exit"); // it was answered
});

test("what reaches the workspace takes as long as its start", async () => {
  lateServer();
  await workspace.entries("c", "/w", null);
  await workspace.find("c", "a");
  await workspace.makeFolder("c", "/w/a");
  await workspace.changes("c", "/w", null);
  await workspace.review("c", "/w/a", null);
  await workspace.revert("c", "/w/a", null, "1");
  await workspace.commits("c", "/w");
  await workspace.checkpoints("c");
  await forge.remote("c", "/w");
  await expect(workspace.isThere("c", "/w", "a")).rejects.not.toThrow("60 seconds"); // the answer is empty
});

test("the page of a proxy is not taken for an answer that there is nothing", async () => {
  vi.stubGlobal("fetch", async () => new Response("<h1>Sign in</h1>"));
  await expect(api.list(null)).rejects.toThrow("Something else than the server");
});

test("a server that is away is said to be away", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("failed")));
  await expect(api.get("c")).rejects.toThrow("cannot be reached");
});
