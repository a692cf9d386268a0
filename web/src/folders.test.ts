import { expect, test, vi } from "vitest";
import { wayTo } from "./folders";

vi.mock("./ask", () => ({})); // it needs a browser

const root = (path: string) => ({ name: path, path });
const paths = (path: string, ...roots: string[]) => wayTo(path, roots.map(root)).map((folder) => folder.path);

test("the way to a folder begins with the nearest root that holds it", () => {
  expect(paths("/home/me/project/src", "/home/me")).toEqual(["/home/me", "/home/me/project", "/home/me/project/src"]);
  expect(paths("/home/me/a", "/", "/home/me")).toEqual(["/home/me", "/home/me/a"]);
  expect(paths("/srv/a", "/")).toEqual(["/", "/srv", "/srv/a"]);
  expect(paths("/home/me", "/home/me")).toEqual(["/home/me"]);
  expect(paths("/home/meadow", "/home/me")).toEqual([]);
});
