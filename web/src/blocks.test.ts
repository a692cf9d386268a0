import { expect, test } from "vitest";
import { blocks } from "./blocks";

test("code is one block, whatever stands in it", () => {
  const code = "```sh\none\n\ntwo\n```";
  expect(blocks(`A\nb\n\n\n${code}\n\nC`)).toEqual(["A\nb", code, "C"]);
});

test("code that is not finished yet stays one block", () => {
  expect(blocks("A\n\n~~~\none\n\ntwo")).toEqual(["A", "~~~\none\n\ntwo"]);
});
