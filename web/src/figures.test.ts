import { expect, test } from "vitest";
import { figuresOf } from "./figures";

test("figures have their words and labels, and distributions are left out", () => {
  const page = [
    "# HELP deft_conversations Conversations in the store.",
    "# TYPE deft_conversations gauge",
    'deft_conversations{status="idle"} 3',
    "# HELP deft_up_seconds How long it runs.",
    "deft_up_seconds 12.3456",
    "# HELP deft_build_info What it is.",
    'deft_build_info{version="1",git="x"} 1',
    'deft_seconds_bucket{le="1"} 7',
    "deft_seconds_count 7",
    "# HELP deft_memory_bytes Memory that it has.",
    "deft_memory_bytes 90648576",
    "",
  ].join("\n");
  expect(figuresOf(page)).toEqual([
    { name: 'deft_conversations{status="idle"}', help: "Conversations in the store. status: idle", value: "3" },
    { name: "deft_up_seconds", help: "How long it runs.", value: "12.3 s" },
    { name: 'deft_build_info{version="1",git="x"}', help: "What it is. version: 1, git: x", value: "" },
    { name: "deft_memory_bytes", help: "Memory that it has.", value: "90.6 MB" },
  ]);
});
