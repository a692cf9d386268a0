// What the server sends, by the names of its OpenAPI document. Nothing in it is trusted: fields may be missing.

import type { components } from "./generated/api";

type Schemas = components["schemas"];

export type Status = Schemas["Status"];
export type Risk = Schemas["Risk"];
export type Content = Schemas["Content"];
export type Stats = Schemas["Stats"];
export type ActionEvent = Schemas["ActionEvent"];
export type SystemPromptEvent = Schemas["SystemPromptEvent"];
export type Observation = Schemas["Observation"];
export type Classification = Schemas["Classification"];
export type ToolDefinition = Schemas["ToolDefinition"];
export type CriticResult = Schemas["CriticResult"];
export type Event = Schemas["Event"];
export type Frame = Schemas["Frame"];
export type Conversation = Schemas["Conversation"];

export type Fields = Record<string, unknown>;

/** The text of a message or an answer. */
export function textOf(content: Content[] | undefined): string {
  return (content ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** Its images that carry their own data: others would be fetched from a place that somebody else chose. */
export function imagesOf(content: Content[] | undefined): string[] {
  const all = (content ?? []).flatMap((part) => (part.type === "image" ? part.image_urls : []));
  return all.filter((url) => /^data:image\/(png|jpeg|gif|webp);base64,/.test(url));
}

/** The picture of a page that an answer carries, as an address of its own data. */
export function screenshotOf(observation: Observation): string | null {
  const data = observation["screenshot_data"];
  return typeof data === "string" && /^[A-Za-z0-9+/=]+$/.test(data) ? `data:image/png;base64,${data}` : null;
}
