// The official client of the OpenAI API against the gateway of `deft serve`.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import OpenAI from 'openai';

import { Desk, KEY } from './desk.mjs';

let desk, client, model;
before(async () => {
  desk = await new Desk().start();
  client = new OpenAI({ apiKey: KEY, baseURL: `${desk.host}/v1`, maxRetries: 0 });
  const answer = await fetch(`${desk.host}/api/profiles/p1`, {
    method: 'POST',
    headers: { 'X-Session-API-Key': KEY, 'Content-Type': 'application/json' },
    body: JSON.stringify({ llm: { model: desk.script('- text: Hello there.\n- text: Hello again.\n') } }),
  });
  assert.ok(answer.ok);
  model = (await client.models.list()).data[0].id;
});
after(() => desk.stop());

const messages = [{ role: 'user', content: 'hi' }];

test('a chat is answered whole', async () => {
  const answer = await client.chat.completions.create({ model, messages });
  assert.equal(answer.choices[0].message.content, 'Hello there.');
  assert.ok(answer.usage.total_tokens > 0);
});

test('a chat is answered piece by piece', async () => {
  const stream = client.chat.completions.stream({ model, messages });
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? '';
  assert.equal(text, 'Hello there.');
  assert.equal(await stream.finalContent(), 'Hello there.');
});

test('a response can be gone on from', async () => {
  const first = await client.responses.create({ model, input: 'hi' });
  assert.equal(first.output_text, 'Hello there.');
  const second = await client.responses.create({ model, input: 'more', previous_response_id: first.id });
  assert.equal(second.output_text, 'Hello again.');
});

test('a response comes piece by piece', async () => {
  const stream = await client.responses.create({ model, input: 'hi', stream: true });
  const events = [];
  for await (const event of stream) events.push(event);
  const pieces = events.filter((event) => event.type === 'response.output_text.delta');
  assert.equal(pieces.map((event) => event.delta).join(''), 'Hello there.');
  assert.equal(events.at(-1).type, 'response.completed');
});

test('refusals are what the client knows', async () => {
  await assert.rejects(client.chat.completions.create({ model: 'nope', messages }), OpenAI.NotFoundError);
  const stranger = new OpenAI({ apiKey: 'wrong', baseURL: `${desk.host}/v1`, maxRetries: 0 });
  await assert.rejects(stranger.models.list(), OpenAI.AuthenticationError);
});
