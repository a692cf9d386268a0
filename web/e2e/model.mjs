// A model server on this machine, which speaks the chat protocol of many providers and says what it was told to say.

import { once } from "node:events";
import { createServer } from "node:http";

const [PROVIDER, MODEL] = ["moonshot", "kimi-k2.6"];

/** `llm(title, steps)`: a model that answers with these, one after the other. */
export async function modelServer() {
  const scripts = [];
  const http = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const { messages, tools } = JSON.parse(Buffer.concat(parts));
    const [, number] = /^\/(\d+)\//.exec(request.url);
    const { steps, title } = scripts[number];
    // Who asks without tools wants a title.
    const step = tools ? (steps.shift() ?? { text: "Done." }) : { text: title };
    const words = JSON.stringify(step).length;
    const usage = { prompt_tokens: Math.ceil(JSON.stringify(messages).length / 4), completion_tokens: Math.ceil(words / 4) };
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    const tell = (delta, finish_reason = null) =>
      response.write(`data: ${JSON.stringify({ id: "1", model: MODEL, choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    if (step.text) tell({ role: "assistant", content: step.text });
    for (const [index, { name, arguments: given }] of (step.tool_calls ?? []).entries()) {
      const id = `call_${number}_${steps.length}_${index}`;
      tell({ tool_calls: [{ index, id, type: "function", function: { name, arguments: JSON.stringify(given) } }] });
    }
    tell({}, step.tool_calls ? "tool_calls" : "stop");
    response.end(`data: ${JSON.stringify({ id: "1", model: MODEL, choices: [], usage })}\n\ndata: [DONE]\n\n`);
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  return {
    llm(title, steps) {
      const number = scripts.push({ title, steps: [...steps] }) - 1;
      return { model: `${PROVIDER}/${MODEL}`, base_url: `http://127.0.0.1:${http.address().port}/${number}/v1`, api_key: "none", stream: true };
    },
    close: () => http.close(),
  };
}
