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

test("nor is it turned by character references, in text, in pictures or in links", () => {
  const text = "**photo&#x202e;gnp.exe** &#8294;x\n\n![a&#x202e;b](https://e.org/p.png) [c&#x2067;d](https://e.org \"e&#x202e;f\")";
  const { container } = render(<Markdown text={text} />);
  expect(container.innerHTML).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
  expect(container.querySelector("strong")?.textContent).toBe("photo\ufffdgnp.exe");
  expect(container.querySelector(".remote-image")?.textContent).toContain("a\ufffdb");
});

test("text from right to left keeps what orders it, wherever in the line that stands", () => {
  const { container } = render(<Markdown text={"\u2067**שלום** abc\u2069\n\nabc &#x2067;def"} />);
  expect(container.textContent).toContain("\u2067שלום abc\u2069");
  expect(container.textContent).toContain("abc \ufffddef");
});

test("HTML, comments and definitions that nothing uses are seen as they were written", () => {
  const text = "Do **it**. <!-- quietly -->\n\n<!-- rm -rf / -->\n\n[//]: # (and delete the rest)\n\n[a link][used] <b>bold</b>\n\n[used]: https://e.org\n";
  const { container } = render(<Markdown text={text} />);
  for (const seen of ["<!-- quietly -->", "<!-- rm -rf / -->", "(and delete the rest)", "<b>bold</b>"]) {
    expect(container.textContent).toContain(seen);
  }
  expect(container.textContent).not.toContain("[used]");
  expect(container.querySelector("a")?.getAttribute("href")).toBe("https://e.org");
  expect(container.querySelector("b")).toBeNull();
});

test("nothing leads to this server itself: its addresses can hold a key", () => {
  const inward = ["#key=evil", "/#key=evil", "?x#key=evil", "README.md", `${location.origin}/#key=evil`, `//${location.host}/#key=evil`, "\\\\" + location.host];
  const { container } = render(<Markdown text={inward.map((address) => `[go](<${address}>) ![see](<${address}>)`).join("\n\n")} />);
  expect(container.textContent?.match(/go.*? Picture: see/g)).toHaveLength(inward.length);
  expect(container.querySelector("a")).toBeNull();
  const outward = render(<Markdown text="[go](https://e.org/x) [mail](mailto:a@e.org) ![see](https://e.org/p.png)" />);
  expect([...outward.container.querySelectorAll("a")].map((link) => link.getAttribute("href"))).toEqual(["https://e.org/x", "mailto:a@e.org", "https://e.org/p.png"]);
  expect(outward.container.querySelector(".remote-image")?.textContent).toBe("Picture: see (opens e.org)");
});

test("a line break within a table stays one", () => {
  const { container } = render(<Markdown text={"| a |\n| - |\n| one<br>two |"} />);
  expect(container.querySelector("td br")).toBeTruthy();
});

test("a footnote that only footnotes name is seen as it was written, one that the text leads to as a footnote", () => {
  const { container } = render(<Markdown text={"Read[^a].\n\n[^a]: leads on[^b]\n\n[^b]: is drawn\n\n[^c]: rm -rf /[^c]\n"} />);
  expect(container.textContent).toContain("[^c]: rm -rf /[^c]");
  expect(container.querySelectorAll("section.footnotes li, [data-footnotes] li")).toHaveLength(2);
});

test("what is no whole address is no link into the app, and is seen", () => {
  const text = "[the parser](src/parser.ts) [`a.ts`](a.ts) [below](#below) ![shot](docs/shot.png) ![far](https://e.org/p.png) Read[^n].\n\n[^n]: It.\n";
  const { container } = render(<Markdown text={text} />);
  expect(container.textContent).toContain("the parser (src/parser.ts) a.ts below Picture: shot (docs/shot.png) Picture: far");
  const links = [...container.querySelectorAll("a")].map((link) => link.getAttribute("href"));
  expect(links).toEqual(["https://e.org/p.png"]);
  expect(container.querySelector("sup")?.textContent).toBe("1");
});

test("a list of tasks says which are done", () => {
  const { getByRole } = render(<Markdown text={"- [x] one\n- [ ] two"} />);
  expect(getByRole("checkbox", { name: "done" }).matches(":checked")).toBe(true);
  expect(getByRole("checkbox", { name: "to do" }).matches(":checked")).toBe(false);
});

test("lines that a person typed stay lines, in a long text too", () => {
  const text = "Mend these:\nthe parser  \nthe printer\n\n- one\n  more\n\n```\na\nb\n```\n";
  for (const written of [text, text + "\n\nand so on".repeat(900)]) {
    const { container } = render(<Markdown text={written} lines="kept" />);
    expect(container.querySelectorAll("p")[0]?.querySelectorAll("br")).toHaveLength(2);
    expect(container.querySelector("li")?.querySelectorAll("br")).toHaveLength(1);
    expect(container.querySelector("pre")?.textContent).toBe("a\nb\n");
    cleanup();
  }
  const { container } = render(<Markdown text={text} />);
  expect(container.querySelectorAll("br")).toHaveLength(1);
});

test("what is nested deeper than anybody writes is shown as it was written, and fails nothing", () => {
  for (const text of [">".repeat(5_000) + " deep", "- ".repeat(3_000) + "deep", "say:\n\n" + "> 1. ".repeat(1_500) + "deep"]) {
    const { container } = render(<Markdown text={text} />);
    expect(container.textContent).toContain(text);
  }
  const { container } = render(<Markdown text={"> - > quoted"} />);
  expect(container.querySelector("blockquote li blockquote")?.textContent).toContain("quoted");
});
