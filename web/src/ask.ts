// Asks the server, and says in words what went wrong.

import { dropKey, useKey } from "./key";
import { t } from "./words";

/** How long an answer may take. */
const LIMIT_MS = 60_000;

/** Asks for JSON. Fails with a sentence for a person. */
export async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await send(method, path, body);
  return (await answer.json().catch(() => null)) as T;
}

/** Asks for settings in which secrets are sealed: only the server can read them when they come back. */
export async function askSealed<T>(path: string): Promise<T> {
  return (await (await send("GET", path, undefined, { "X-Expose-Secrets": "encrypted" })).json()) as T;
}

/** Asks for anything. A form goes as it is, everything else as JSON. */
export async function send(method: string, path: string, body?: unknown, more = {}): Promise<Response> {
  const key = useKey.getState().key ?? "";
  const headers: Record<string, string> = { "X-Session-API-Key": key, ...more };
  const sent: RequestInit = { method, headers, signal: AbortSignal.timeout(LIMIT_MS) };
  if (body instanceof FormData) {
    sent.body = body;
  } else if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    sent.body = JSON.stringify(body);
  }
  const answer = await fetch(path, sent).catch(() => {
    throw new Error(t("The server cannot be reached. Is it running?"));
  });
  if (answer.status === 401 && useKey.getState().key === key) dropKey();
  if (answer.ok) return answer;
  const found: unknown = await answer.json().catch(() => null);
  throw new Error(sentence(found) ?? t("The server answered {status}.", { status: answer.status }));
}

export const at = (id: string) => `/api/conversations/${encodeURIComponent(id)}`;

/** Parameters behind a question mark; those without a value are left out. */
export function query(parameters: Record<string, string | number | boolean | null | undefined>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

function sentence(body: unknown): string | null {
  const { detail, exception } = (body ?? {}) as { detail?: unknown; exception?: unknown };
  if (typeof exception === "string") return exception;
  if (typeof detail === "string") return detail;
  const first = Array.isArray(detail) ? (detail[0] as { msg?: unknown; loc?: unknown[] } | undefined) : undefined;
  return typeof first?.msg === "string" ? `${first.loc?.at(-1) ?? ""}: ${first.msg}` : null;
}
