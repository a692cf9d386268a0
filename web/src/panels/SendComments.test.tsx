// @vitest-environment happy-dom
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { addComment, useComments } from "../comments";
import { SendComments } from "./SendComments";

afterEach(cleanup);

test("who sends comments while an action waits is told first that it is not done then", () => {
  const send = vi.fn(async () => {});
  addComment("c", { path: "a.rs", line: 3, side: "new", code: "x", text: "why?" });
  const { rerender } = render(<SendComments id="c" isAsked={false} onSend={send} />);
  expect(screen.getByRole("status").textContent).not.toContain("not done");
  rerender(<SendComments id="c" isAsked onSend={send} />);
  expect(screen.getByRole("status").textContent).toContain("It is not done if you send this.");
  expect(send).not.toHaveBeenCalled();
  fireEvent.click(screen.getByRole("button", { name: "Send instead" }));
  expect(send).toHaveBeenCalledOnce();
  expect(useComments.getState()["c"]).toEqual([]);
});
