// @vitest-environment happy-dom
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, beforeAll, expect, test } from "vitest";
import { Findings } from "./Findings";

beforeAll(() => (Element.prototype.scrollIntoView = () => {}));
afterEach(cleanup);

test("what to do is shown with its commands as code, and a lone backtick as it is", () => {
  const finding = { layer: "authentication", ok: false, detail: "it said: a ` b", remedy: "set the right key: `deft models` names the variable" };
  render(<Findings check={{ data: [finding], error: null, isPending: false }} />);
  expect(screen.getByText("deft models").tagName).toBe("CODE");
  expect(screen.getByRole("listitem").textContent).toContain("set the right key: deft models names the variable");
  expect(screen.getByRole("listitem").textContent).toContain("a ` b");
});
