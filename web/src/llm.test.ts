import { expect, test } from "vitest";
import { llmOf, otherLlm } from "./llm";

test("a profile is used as it is: its key goes to no other address", () => {
  const left = { model: "mine", apiKey: "k", baseUrl: "http://elsewhere" };
  const profile = { model: "openai/gpt-5", api_key: "sealed", base_url: null };
  expect(llmOf(left, profile)).toEqual({ ...profile, stream: true });
  expect(llmOf(left, null)).toEqual({ model: "mine", api_key: "k", base_url: "http://elsewhere", stream: true });
  expect(llmOf({ model: "mine", apiKey: "", baseUrl: "" }, null)).toEqual({ model: "mine", stream: true });
});

test("what goes on in the place of a model takes no key over, and its settings only if it is the same", () => {
  const before = { model: "openai/gpt-5", api_key: "**********", base_url: null, temperature: 0.5, extra_headers: { a: "**********" } };
  expect(otherLlm(before, { apiKey: "k" })).toEqual({ model: "openai/gpt-5", api_key: "k", temperature: 0.5, stream: true });
  expect(otherLlm(before, { baseUrl: "http://elsewhere" })).not.toHaveProperty("api_key");
  expect(otherLlm(before, { model: "ollama/qwen " })).toEqual({ model: "ollama/qwen", stream: true });
  const near = { model: "local", base_url: "http://localhost:1/v1" };
  expect(otherLlm(near, {})).toEqual({ ...near, stream: true });
  expect(otherLlm(near, { baseUrl: "" })).toEqual({ model: "local", stream: true });
});
