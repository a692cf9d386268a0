import { expect, test, vi } from "vitest";
import { ask } from "./ask";
import { folders, isWorkspaceName, placeOf, wayTo } from "./folders";
import type { Conversation } from "./wire";

// It needs a browser.
vi.mock("./ask", () => {
  class Refused extends Error {
    constructor(
      sentence: string,
      readonly status: number,
    ) {
      super(sentence);
    }
  }
  const ask = vi.fn(async (_method: string, address: string, more?: { query: { path: string } }) => {
    if (address === "/api/file/home") return { home: "/home/me", locations: [{ label: "Home", path: "/home/me" }] };
    if (more?.query.path === "/home/me/a") return { items: [] };
    throw new Refused("no such folder", 404);
  });
  return { ask, Refused };
});

const root = (path: string) => ({ name: path, path });
const paths = (path: string, ...roots: string[]) => wayTo(path, roots.map(root)).map((folder) => folder.path);

test("the way to a folder begins with the nearest root that holds it", () => {
  expect(paths("/home/me/project/src", "/home/me")).toEqual(["/home/me", "/home/me/project", "/home/me/project/src"]);
  expect(paths("/home/me/a", "/", "/home/me")).toEqual(["/home/me", "/home/me/a"]);
  expect(paths("/srv/a", "/")).toEqual(["/", "/srv", "/srv/a"]);
  expect(paths("/home/me", "/home/me")).toEqual(["/home/me"]);
  expect(paths("/home/meadow", "/home/me")).toEqual([]);
});

test.each(["docker:debian:12?memory=2048", "k8s:debian", "ssh:me@host:22/srv", "sandbox:/a", "local:/a", "remote:https://h/w"])(
  "%s is the name of a workspace",
  (name) => expect(isWorkspaceName(name)).toBe(true),
);

test("a folder is no name of a workspace, whatever it is called", () => {
  for (const folder of ["/srv/docker:a", "~/ssh", "docker", "C:/a"]) expect(isWorkspaceName(folder)).toBe(false);
});

test("a place is offered again by its name where it has one", () => {
  const place = (workspace: object) => placeOf({ workspace } as Conversation);
  expect(place({ working_dir: "/workspace", name: "docker:debian:12" })).toBe("docker:debian:12");
  expect(place({ working_dir: "/home/me/a" })).toBe("/home/me/a");
});

test.each([
  [" /srv/a ", "/srv/a"],
  ["~", "/home/me"],
  ["~/a", "/home/me/a"],
  ["docker:debian:12", "docker:debian:12"],
])("%j means %j", async (written, meant) => expect(await folders.meant(written)).toBe(meant));

test.each(["a", "./a", "~me/a"])("%j says nothing of where it is, and is not made somewhere", async (written) => {
  await expect(folders.meant(written)).rejects.toThrow("no whole path");
});

test.each([
  ["/home/me/a", false],
  ["~/a", false],
  ["~/typo", true],
  ["docker:debian:12", false],
])("whether %j is missing: %j", async (written, missing) => expect(await folders.isMissing(written)).toBe(missing));

test("nobody asks of a folder where the server lets nobody look around", async () => {
  vi.mocked(ask).mockClear();
  expect(await folders.isMissing("/srv/a")).toBe(false);
  expect(vi.mocked(ask).mock.calls).toEqual([["get", "/api/file/home"]]);
});
