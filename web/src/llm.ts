// The model of a new conversation, and how it is reached.

import type { Fields } from "./wire";

/** What is written where a conversation is begun. */
interface Written {
  model: string;
  apiKey: string;
  baseUrl: string;
}

/** A profile says all of it: its key must not go to an address that was written for something else. */
export function llmOf({ model, apiKey, baseUrl }: Written, profile: Fields | null): Fields {
  if (profile) return { ...profile, stream: true };
  return { model, ...(apiKey && { api_key: apiKey }), ...(baseUrl && { base_url: baseUrl }), stream: true };
}

/** The model that a conversation goes on with. No key is taken over: it was for what it was given for. Further settings are
 * those of the model before, if it is the same. */
export function otherLlm(before: Fields, { model, apiKey, baseUrl }: Partial<Written>): Fields {
  const named = model?.trim() || before["model"];
  const address = baseUrl ?? before["base_url"];
  const isKept = ([name, value]: [string, unknown]) =>
    name !== "base_url" && ["string", "number", "boolean"].includes(typeof value) && !/^\*+$/.test(String(value));
  const kept = named === before["model"] ? Object.fromEntries(Object.entries(before).filter(isKept)) : {};
  return { ...kept, model: named, ...(apiKey && { api_key: apiKey }), ...(address ? { base_url: address } : {}), stream: true };
}
