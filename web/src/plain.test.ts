import { expect, test } from "vitest";
import { plain } from "./plain";

test.each([
  ["\u001b[31mred\u001b[0m", "red"],
  ["\u001b]0;title\u0007text", "text"],
  ["\u001b]8;;http://evil.example\u001b\\link\u001b]8;;\u001b\\", "link"],
  ["10%\r100%\nnext", "100%\nnext"],
  ["dos\r\nlines\r\n", "dos\nlines\n"],
  ["a\u0008b\u202ec", "a\u{fffd}b\u{fffd}c"],
  ["tab\tstays", "tab\tstays"],
])("%j is shown as %j", (output, shown) => expect(plain(output)).toBe(shown));
