import { expect, test, vi } from "vitest";
import { fitting, wordsOf } from "./repositories";

vi.mock("./ask", () => ({ ask: null }));

const known = (name: string) => ({ name, address: `https://forge.example/${name}.git`, is_public: true });

test("words search, and an address does not", () => {
  expect(wordsOf(" api ")).toBe("api");
  expect(wordsOf("https://github.com/a/b")).toBe("");
  expect(wordsOf("git@github.com:a/b")).toBe("");
});

test("what is written narrows the list", () => {
  const all = [known("ann/api"), known("ann/web")];
  expect(fitting(all, "API").map(({ name }) => name)).toEqual(["ann/api"]);
  expect(fitting(all, "")).toHaveLength(2);
});
