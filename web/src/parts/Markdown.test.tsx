// @vitest-environment happy-dom
import { cleanup, render } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { Markdown } from "./Markdown";

afterEach(cleanup);

test("what turns the direction of writing is seen in text and in code", () => {
  const { container } = render(<Markdown text={"Open **photo\u202egnp.exe**, then `a\u2066b`.\n\nplain \u202eline"} />);
  expect(container.textContent).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
  expect(container.querySelector("strong")?.textContent).toBe("photo\ufffdgnp.exe");
  expect(container.querySelector("code")?.textContent).toBe("a\ufffdb");
});
