// @vitest-environment happy-dom
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { DiffTable } from "./DiffTable";

afterEach(cleanup);
const change = { path: "a.txt", before: "one\ntwo\nthree\n", after: "one\n2\nthree\n" };
const review = () => ({ comments: [], onComment: vi.fn(), onRemove: vi.fn(), onRevert: vi.fn() });
const stops = () => screen.getAllByRole("button", { name: /Comment on line/ }).filter((button) => button.tabIndex === 0);

test.each(["inline", "beside"] as const)("%s: one line is reached by the tabulator, the others by arrows", (layout) => {
  render(<DiffTable change={change} layout={layout} review={review()} />);
  expect(stops()).toHaveLength(1);
  const [first] = stops();
  first?.focus();
  fireEvent.keyDown(document.activeElement ?? document.body, { key: "ArrowDown" });
  expect(document.activeElement).not.toBe(first);
  expect(stops()).toEqual([document.activeElement]);
  fireEvent.keyDown(document.activeElement ?? document.body, { key: "ArrowUp" });
  expect(document.activeElement).toBe(first);
});

test("a line is commented on, and a part is taken back", () => {
  const does = review();
  render(<DiffTable change={change} review={does} />);
  fireEvent.click(screen.getAllByRole("button", { name: "Comment on line 2" }).at(-1) ?? document.body);
  fireEvent.change(screen.getByLabelText("Comment"), { target: { value: " In words. " } });
  fireEvent.click(screen.getByRole("button", { name: "Add comment" }));
  expect(does.onComment).toHaveBeenCalledWith(expect.objectContaining({ type: "added", new: 2 }), "In words.");
  fireEvent.click(screen.getByRole("button", { name: "Revert this part" }));
  expect(does.onRevert).toHaveBeenCalledWith(0);
});

test("what stands in a file stays text", () => {
  render(<DiffTable change={{ path: "x", before: null, after: "<img src=x onerror=alert(1)>\u202e" }} />);
  expect(document.querySelector("img")).toBeNull();
  expect(document.body.textContent).toContain("<img src=x onerror=alert(1)>");
  expect(document.body.textContent).not.toContain("\u202e");
});

test.each(["inline", "beside"] as const)("%s: a return within a line hides nothing, and one that ends it is not shown", (layout) => {
  render(<DiffTable change={{ path: "x", before: null, after: "# fine\rsteal()\r\nend\r\n" }} layout={layout} />);
  const lines = [...document.querySelectorAll("td.text:not(.none)")].map((cell) => cell.textContent);
  expect(lines).toEqual(["# fine␍steal()", "end"]);
});

test("lines that differ only in how they end are told apart, and are not marked where all end alike", () => {
  const { container, rerender } = render(<DiffTable change={{ path: "a.txt", before: "one\r\ntwo\r\n", after: "one\ntwo\r\n" }} />);
  const texts = () => [...container.querySelectorAll("td.text")].map((cell) => cell.textContent);
  expect(texts()).toEqual(["one␍", "one", "two␍"]);
  rerender(<DiffTable change={{ path: "a.txt", before: "one\r\ntwo\r\n", after: "1\r\ntwo\r\n" }} />);
  expect(texts()).toEqual(["one", "1", "two"]);
});

test.each(["inline", "beside"] as const)("%s: lines get the colours of their language, those in the middle of a comment too", async (layout) => {
  const before = "/* One\n   two */\nconst n = 1;\n";
  const { container } = render(<DiffTable change={{ path: "src/a.ts", before, after: before.replace("1", "2") }} layout={layout} />);
  const within = (kind: string) => [...container.querySelectorAll(`.text .hljs-${kind}`)].map((part) => part.textContent);
  await waitFor(() => expect(within("number")).toEqual(["1", "2"]));
  expect([...new Set(within("comment"))]).toEqual(["/* One", "   two */"]);
});

test("a file that has changed is never shown in the colours of what it was", async () => {
  const { container, rerender } = render(<DiffTable change={{ path: "a.ts", before: null, after: "const n = 1;\n" }} />);
  await waitFor(() => expect(container.querySelector(".hljs-number")?.textContent).toBe("1"));
  rerender(<DiffTable change={{ path: "a.ts", before: null, after: "const n = 2;\n" }} />);
  expect(container.querySelector(".text")?.textContent).toBe("const n = 2;");
});
