import { expect, test } from "vitest";
import { llmOf } from "./llm";

test("a profile is used as it is: its key goes to no other address", () => {
  const left = { model: "mine", apiKey: "k", baseUrl: "http://elsewhere" };
  const profile = { model: "openai/gpt-5", api_key: "sealed", base_url: null };
  expect(llmOf(left, profile)).toEqual({ ...profile, stream: true });
  expect(llmOf(left, null)).toEqual({ model: "mine", api_key: "k", base_url: "http://elsewhere", stream: true });
  expect(llmOf({ model: "mine", apiKey: "", baseUrl: "" }, null)).toEqual({ model: "mine", stream: true });
});
