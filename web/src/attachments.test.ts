import { expect, test, vi } from "vitest";
import { bring, nameFor, naming } from "./attachments";
import { workspace } from "./workspace";

vi.mock("./workspace", () => ({ workspace: { makeFolder: vi.fn(), write: vi.fn() } })); // it needs a browser

test("a file gets a name that is one word and stays where it is put", () => {
  expect(nameFor("My report (2).pdf")).toBe("My-report-2-.pdf");
  expect(nameFor("../../etc/passwd")).toBe("etc-passwd");
  expect(nameFor("übersicht.csv")).toBe("übersicht.csv");
  expect(nameFor("…")).toBe("file");
});

test("files are brought into a folder of their own, and the message names them", async () => {
  const names = await bring("c", "/work", [new File(["1"], "a b.csv"), new File(["2"], "notes.txt")]);
  expect(workspace.makeFolder).toHaveBeenCalledWith("c", "/work/uploads");
  expect(vi.mocked(workspace.write).mock.calls.map(([, path]) => path)).toEqual(["/work/uploads/a-b.csv", "/work/uploads/notes.txt"]);
  expect(naming("Look at this. ", names)).toBe("Look at this. @uploads/a-b.csv @uploads/notes.txt");
});
