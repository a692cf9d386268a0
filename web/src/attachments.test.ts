import { expect, test, vi } from "vitest";
import { nameFor } from "./attachments";

vi.mock("./workspace", () => ({ workspace: {} })); // it needs a browser

test("a file gets a name that is one word and stays where it is put", () => {
  expect(nameFor("My report (2).pdf")).toBe("My-report-2-.pdf");
  expect(nameFor("../../etc/passwd")).toBe("etc-passwd");
  expect(nameFor("übersicht.csv")).toBe("übersicht.csv");
  expect(nameFor("…")).toBe("file");
});
