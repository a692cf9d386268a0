// @vitest-environment happy-dom
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { checksum, removeIf, replaceIf } from "./compared";
import { workspace } from "./workspace";

let folder = "";
const path = () => join(folder, "a b's.txt");
const place = () => ({ conversation: "c", folder, path: path() });
/** What somebody writes between the upload and the command. */
let meanwhile: string | null = null;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "compared-"));
  meanwhile = null;
  vi.spyOn(workspace, "write").mockImplementation(async (_, to, content) => {
    writeFileSync(to, await content.text());
    if (meanwhile !== null) writeFileSync(path(), meanwhile);
  });
  vi.spyOn(workspace, "run").mockImplementation(async (_, command, cwd) =>
    execFileSync("sh", ["-c", command], { cwd, encoding: "utf8" }).trim(),
  );
});
afterEach(() => {
  rmSync(folder, { recursive: true });
  vi.restoreAllMocks();
});

test.each(["", "x", "Grüße, 日本\r\n", "line\n".repeat(5_000)])("a checksum is the one of the command", (text) => {
  expect(checksum(text)).toBe(execFileSync("cksum", { input: text, encoding: "utf8" }).trim());
});

test("a file is replaced or removed as long as it is what was seen", async () => {
  writeFileSync(path(), "one\ntwo\n");
  expect(await replaceIf(place(), "one\ntwo\n", "one\n")).toBe(true);
  expect(readFileSync(path(), "utf8")).toBe("one\n");
  expect(await removeIf(place(), "something else")).toBe(false);
  expect(readdirSync(folder)).toEqual(["a b's.txt"]);
  expect(await removeIf(place(), "one\n")).toBe(true);
  expect(readdirSync(folder)).toEqual([]);
});

test("a file that is gone comes back, unless there is another one", async () => {
  expect(await replaceIf(place(), null, "one\n")).toBe(true);
  expect(readFileSync(path(), "utf8")).toBe("one\n");
  expect(await replaceIf(place(), null, "two\n")).toBe(false);
  expect(readFileSync(path(), "utf8")).toBe("one\n");
});

test("what was written meanwhile is not lost", async () => {
  writeFileSync(path(), "one\ntwo\n");
  meanwhile = "one\ntwo\nthree\n";
  expect(await replaceIf(place(), "one\ntwo\n", "one\n")).toBe(false);
  expect(readFileSync(path(), "utf8")).toBe(meanwhile);
  expect(readdirSync(folder)).toEqual(["a b's.txt"]);
});

test("what is not proven to be done is not told as done", async () => {
  expect(await replaceIf(place(), "gone meanwhile", "one\n")).toBe(false);
  expect(readdirSync(folder)).toEqual([]);
  writeFileSync(path(), "one\n");
  vi.spyOn(workspace, "run").mockResolvedValue("sh: cksum: not found\ndiffers");
  expect(await removeIf(place(), "one\n")).toBe(false);
});
