// How a person writes an MCP server, and what is shown of one.

import { lineOf, wordsOf } from "../command-line";
import { t } from "../words";
import type { McpServer } from "./server";

export interface Written {
  /** An address, or a program and its arguments. */
  target: string;
  /** A line each: `NAME=value` for a program, `Name: value` for an address. */
  more: string;
}

export const isAddress = (target: string) => /^https?:\/\//.test(target.trim());

/** Fails with what is wrong. */
export function configOf({ target, more }: Written): McpServer {
  if (isAddress(target)) return { url: target.trim(), ...named("headers", pairs(more, ":")) };
  const words = wordsOf(target);
  if (!words) throw new Error(t("A quote is not closed."));
  const [command = "", ...args] = words;
  return { command, args, ...named("env", pairs(more, "=")) };
}

/** What a server is, without values that may be secret. */
export const targetOf = ({ url, command, args }: McpServer) => url ?? lineOf([command ?? "", ...(args ?? [])]);

/** The names of its variables or headers. */
export const namesOf = (config: McpServer) => Object.keys({ ...config.env, ...(config["headers"] as object | null | undefined) });

function pairs(text: string, mark: string): Record<string, string> {
  const lines = text.split("\n").filter((line) => line.trim());
  return Object.fromEntries(
    lines.map((line) => {
      const place = line.indexOf(mark);
      if (place < 1) throw new Error(t("“{line}” has no “{mark}” between a name and a value.", { line, mark }));
      return [line.slice(0, place).trim(), line.slice(place + 1).trim()];
    }),
  );
}

const named = (name: string, values: Record<string, string>) => (Object.keys(values).length > 0 ? { [name]: values } : {});
