// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { whatGoes } from "./removal";
import type { Conversation } from "./wire";

const at = (name: string | null, folder = "/workspace") =>
  whatGoes({ title: "Tidy", workspace: { working_dir: folder, ...(name && { name }) } } as unknown as Conversation);

test.each([
  [at(null, "/home/u/project"), "/home/u/project"],
  [at("local:/srv/p", "/srv/p"), "/srv/p"],
  [at("ssh:host/srv/p", "/srv/p"), "/srv/p"],
  [at("docker:debian:12?dir=%2Fsrv%2Fp&memory=2048"), "/srv/p"],
  [at("docker:debian:12"), "docker:debian:12"],
  [at("k8s:debian:12?claim=mine"), "mine"],
  [at("remote:https://deft.example.com/?dir=%2Fsrv%2Fp", "/srv/p"), "remote:https://deft.example.com/?dir=%2Fsrv%2Fp"],
])("files that are the user's stay: %s", (told, where) => {
  expect(told).toBe(`“Tidy” and what is running in it will be gone. The files in ${where} stay.`);
});

test.each(["docker:debian:12?volume=", "k8s:debian:12?storage=1Gi", "remote:https://runtime.example.com/?sandbox=image"])(
  "files that were made for it go: %s",
  (name) => {
    expect(at(name)).toBe(
      `“Tidy” will be gone, with what is running in it and the files of its workspace, ${name}.`,
    );
  },
);

test("a volume with a name stays", () => {
  expect(at("docker:debian:12?volume=data")).toContain("The files in data stay");
});
