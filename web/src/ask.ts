// Asks the server, and says in words what went wrong. Paths, parameters, bodies and answers are those of the server's
// OpenAPI document: what it does not have does not compile.

import type { paths } from "./generated/api";
import { dropKey, useKey } from "./key";
import { t } from "./words";

/** What the server refused, and how it says so in a number. */
export class Refused extends Error {
  constructor(
    sentence: string,
    readonly status: number,
  ) {
    super(sentence);
  }
}

/** How long an answer may take, unless it is asked for with `isLong`. */
const LIMIT_MS = 60_000;

type Method = "get" | "post" | "put" | "patch" | "delete";

/** The paths that know a method. */
type PathOf<M extends Method> = { [P in keyof paths]: undefined extends paths[P][M] ? never : P }[keyof paths];

/** What is behind the question mark; what is null is left out. */
type Query<O> = O extends { parameters: { query?: infer Q } } ? { [K in keyof Q]?: Q[K] | null } : never;

/** What a request has to say. */
type Given<O> = {
  query?: Query<O>;
  headers?: Record<string, string>;
  /** It takes as long as it takes: files on their way, work of models, git and workspaces. */
  isLong?: true;
} & (O extends { parameters: { path: infer P } } ? { path: P } : { path?: never }) &
  (O extends { requestBody?: { content: { "application/json": infer B } } } ? { body?: B } : { body?: never });

type Json<R> = R extends { content: { "application/json": infer T } } ? T : never;

/** What a request is answered with that is not refused. */
export type Answer<M extends Method, P extends PathOf<M>> = paths[P][M] extends { responses: infer R }
  ? Json<R[keyof R & (200 | 201)]>
  : never;

/** The last parameter may be left out where nothing needs to be said. */
type Rest<O> = O extends { parameters: { path: object } } ? [given: Given<O>] : [given?: Given<O>];

/** Asks for JSON. Fails with a sentence for a person. */
export async function ask<M extends Method, P extends PathOf<M>>(
  method: M,
  path: P,
  ...[given]: Rest<paths[P][M]>
): Promise<Answer<M, P>> {
  const { path: names, query, body, headers, isLong } = (given ?? {}) as {
    path?: object;
    query?: object;
    body?: unknown;
    headers?: object;
    isLong?: true;
  };
  const answer = await send(method, filled(path, names, query), body, headers, isLong && "long");
  const text = await answer.text().catch((error: unknown) => {
    throw inWords(error);
  });
  return parsed(text) as Answer<M, P>;
}

/** Asks for settings in which secrets are sealed: only the server can read them when they come back. */
export async function askSealed<P extends "/api/settings" | "/api/profiles/{name}">(
  path: P,
  ...[given]: Rest<paths[P]["get"]>
): Promise<Answer<"get", P>> {
  const { path: names } = (given ?? {}) as { path?: object };
  const answer = await send("get", filled(path, names), undefined, { "X-Expose-Secrets": "encrypted" });
  return (await answer.json()) as Answer<"get", P>;
}

/** A path of the document with its names and parameters filled in. */
export function filled(path: string, names: object = {}, query: object = {}): string {
  const named = new Map(Object.entries(names));
  const place = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(named.get(name))));
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const parameters = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return given.length === 0 ? place : `${place}?${parameters}`;
}

/** What JSON says; null where nothing is said. */
function parsed(text: string): unknown {
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(t("Something else than the server has answered, such as a proxy that wants you to sign in. Reload the page."));
  }
}

type Patience = "usual" | "long";

/** Asks for anything. A form goes as it is, everything else as JSON. */
export async function send(method: string, address: string, body?: unknown, more = {}, patience: Patience = "usual"): Promise<Response> {
  const key = useKey.getState().key ?? "";
  const headers: Record<string, string> = { "X-Session-API-Key": key, ...more };
  const signal = patience === "usual" ? AbortSignal.timeout(LIMIT_MS) : null;
  const sent: RequestInit = { method: method.toUpperCase(), headers, signal };
  if (body instanceof FormData) {
    sent.body = body;
  } else if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    sent.body = JSON.stringify(body);
  }
  return request(address, sent, () => {
    if (useKey.getState().key === key) dropKey();
  });
}

/** Asks with these headers and no others. Fails with a sentence for a person. */
export async function request(address: string, sent: RequestInit, onRefused = () => {}): Promise<Response> {
  const answer = await fetch(address, { signal: AbortSignal.timeout(LIMIT_MS), ...sent }).catch((error: unknown) => {
    throw inWords(error);
  });
  if (answer.status === 401) onRefused();
  if (answer.ok) return answer;
  const found: unknown = await answer.json().catch(() => null);
  throw new Refused(sentence(found) ?? t("The server answered {status}.", { status: answer.status }), answer.status);
}

/** Why no answer came. */
function inWords(error: unknown): Error {
  const isLate = error instanceof DOMException && error.name === "TimeoutError";
  return new Error(
    isLate
      ? t("The server has not answered within {n} seconds. It may still do what was asked.", { n: LIMIT_MS / 1000 })
      : t("The server cannot be reached. Is it running?"),
  );
}

/** Where people sign in with another account, if they can. */
export async function signInAddress(): Promise<string | null> {
  const answer = await request("/api/auth/methods", {}).catch(() => null);
  const methods = (await answer?.json().catch(() => null)) as Answer<"get", "/api/auth/methods"> | null;
  return methods?.sign_in ?? null;
}

/** What names a conversation in a path. */
export const on = (id: string) => ({ path: { conversation_id: id } });

function sentence(body: unknown): string | null {
  const { detail, exception } = (body ?? {}) as { detail?: unknown; exception?: unknown };
  if (typeof exception === "string") return exception;
  if (typeof detail === "string") return detail;
  const first = Array.isArray(detail) ? (detail[0] as { msg?: unknown; loc?: unknown[] } | undefined) : undefined;
  return typeof first?.msg === "string" ? `${first.loc?.at(-1) ?? ""}: ${first.msg}` : null;
}
