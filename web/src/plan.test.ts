import { expect, test, vi } from "vitest";
import { plan } from "./plan";

const files = new Map<string, string>();
vi.mock("./ask", () => ({ at: (id: string) => `/${id}`, ask: async () => ({ mode: "plan" }) }));
vi.mock("./workspace", () => ({
  workspace: {
    read: async (_: string, path: string) => {
      const text = files.get(path);
      if (text === undefined) throw new Error("File not found");
      return new Blob([text]);
    },
  },
}));

test("the plan at the top of the workspace counts before the agent's own place", async () => {
  expect(await plan.read("c", "/work")).toBeNull();
  files.set("/work/.agents_tmp/PLAN.md", "hidden");
  expect(await plan.read("c", "/work")).toEqual({ path: "/work/.agents_tmp/PLAN.md", text: "hidden" });
  files.set("/work/PLAN.md", "top");
  expect(await plan.read("c", "/work")).toEqual({ path: "/work/PLAN.md", text: "top" });
});
