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
