import { beforeEach, expect, test, vi } from "vitest";
import { bring, nameFor, naming, sorted } from "./attachments";
import { workspace } from "./workspace";

vi.mock("./workspace", () => ({ workspace: { makeFolder: vi.fn(), write: vi.fn(), isThere: vi.fn() } })); // it needs a browser

/** What is in the workspace. */
const there = new Set<string>();

beforeEach(() => {
  there.clear();
  vi.mocked(workspace.write).mockReset().mockImplementation(async (_, path) => there.add(path));
  vi.mocked(workspace.isThere).mockImplementation(async (_, folder, name) => there.has(`${folder}/${name}`));
});

test("a file gets a name that is one word and stays where it is put", () => {
  expect(nameFor("My report (2).pdf")).toBe("My-report-2-.pdf");
  expect(nameFor("../../etc/passwd")).toBe("etc-passwd");
  expect(nameFor("übersicht.csv")).toBe("übersicht.csv");
  expect(nameFor("…")).toBe("file");
});

test("files are brought into a folder of their own, and the message names them", async () => {
  const names = await bring("c", "/work", [new File(["1"], "a b.csv"), new File(["2"], "notes.txt")]);
  expect(workspace.makeFolder).toHaveBeenCalledWith("c", "/work/uploads");
  expect([...there]).toEqual(["/work/uploads/a-b.csv", "/work/uploads/notes.txt"]);
  expect(naming("Look at this. ", names)).toBe("Look at this. @uploads/a-b.csv @uploads/notes.txt");
});

test("no file takes the place of another, be it of an earlier message or of the same", async () => {
  const given = ["report.csv", "a b.tar.gz", "a-b.tar.gz", "Makefile", "Makefile"].map((name) => new File(["new"], name));
  there.add("/work/uploads/report.csv").add("/work/uploads/report-2.csv");
  expect(await bring("c", "/work", given)).toEqual([
    "uploads/report-3.csv",
    "uploads/a-b.tar.gz",
    "uploads/a-b.tar-2.gz",
    "uploads/Makefile",
    "uploads/Makefile-2",
  ]);
  expect(workspace.write).toHaveBeenCalledTimes(5);
});

test("pictures beyond those that go with a message are refused in words", async () => {
  vi.stubGlobal("FileReader", class {
    result = "data:";
    onload = () => {};
    readAsDataURL = () => this.onload();
  });
  const given = Array.from({ length: 10 }, (_, index) => new File(["x"], `${index}.png`, { type: "image/png" }));
  const whole = await sorted(given.slice(0, 8), 0);
  expect([whole.pictures.length, whole.refused]).toEqual([8, null]);
  const cut = await sorted(given, 3);
  expect(cut.pictures).toHaveLength(5);
  expect(cut.refused).toContain("8 pictures");
  vi.unstubAllGlobals();
});

test("a folder, which looks like a file, is refused in words, and what came with it is taken", async () => {
  const folder = new File([], "src");
  folder.slice = () => ({ arrayBuffer: () => Promise.reject(new Error("NotFoundError")) }) as unknown as Blob;
  const { others, refused } = await sorted([folder, new File(["a"], "a.txt")], 0);
  expect(others.map(({ name }) => name)).toEqual(["a.txt"]);
  expect(refused).toContain("“src” cannot be read");
});
