// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { pageOf } from "./PreviewPanel";

test.each(["/shop?q=1", "shop?q=1", " //shop?q=1", "/\\shop?q=1"])("a page stays on the origin of the port: %s", (path) => {
  expect(pageOf("http://p3000-ab.localhost:4000/enter?ticket=t", path)).toBe("http://p3000-ab.localhost:4000/shop?q=1");
});
