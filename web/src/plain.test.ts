import { expect, test } from "vitest";
import { plain, unturned, unturnedCode, visibleControls, visibleInFile } from "./plain";

test.each([
  ["\u001b[31mred\u001b[0m", "red"],
  ["\u001b]0;title\u0007text", "text"],
  ["\u001b]8;;http://evil.example\u001b\\link\u001b]8;;\u001b\\", "link"],
  ["10%\r100%\nnext", "100%\nnext"],
  ["dos\r\nlines\r\n", "dos\nlines\n"],
  ["a\u0008b\u202ec", "a\u{fffd}b\u{fffd}c"],
  ["tab\tstays", "tab\tstays"],
])("%j is shown as %j", (output, shown) => expect(plain(output)).toBe(shown));

test.each([
  ["touch HIDDEN #\recho hi", "touch HIDDEN #␍echo hi"],
  ["rm -r x\u001b]0;echo hi", "rm -r x␛]0;echo hi"],
  ["a\u0000\u0008\u007f\u009b1mb", "a␀␈␡\ufffd1mb"],
  ["one\r\ntwo\tthree", "one␍\ntwo\tthree"],
  ["ls \u202eabc\u2066", "ls \ufffdabc\ufffd"],
  ["ä 漢 🦀", "ä 漢 🦀"],
])("who judges %j sees %j", (judged, shown) => expect(visibleControls(judged)).toBe(shown));

test("in a file only those returns are shown that do not end a line", () => {
  expect(visibleInFile("one\r\ntwo\rthree\r\r\nfour\r")).toBe("one\ntwo␍three␍\nfour");
});

test("nothing turns the direction of writing unseen, but text from right to left keeps its order", () => {
  expect(unturned("access \u202egnp.exe\u202c and \u2066x\u2069")).toBe("access \ufffdgnp.exe\ufffd and \ufffdx\ufffd");
  const hebrew = "\u2067שלום\u2069 abc";
  expect(unturned(hebrew)).toBe(hebrew);
  expect(unturned("שלום \u202eabc")).toBe("שלום \ufffdabc");
  expect(unturnedCode("if (a \u2066/* שלום */\u2069)")).toBe("if (a \ufffd/* שלום */\ufffd)");
});
