// The official TypeScript client against `deft serve`: what its users do with a remote conversation.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { Desk, ECHO, FINISH, KEY, until } from './desk.mjs';

const { RemoteConversation, RemoteWorkspace } = await import('@openhands/typescript-client');
const { ConversationClient } = await import('@openhands/typescript-client/clients');

let desk;
before(async () => {
  desk = await new Desk().start();
});
after(() => desk.stop());

/** A conversation, what its socket brought, and what went wrong with it. */
async function begin(steps, { llm, on = desk, ...options } = {}) {
  const seen = [];
  const workspace = new RemoteWorkspace({ host: on.host, workingDir: on.work, apiKey: KEY });
  const conversation = new RemoteConversation(on.agent(steps, llm), workspace, {
    callback: (event) => seen.push(event),
    onError: (error) => assert.fail(error),
    ...options,
  });
  await conversation.start();
  await conversation.startWebSocketClient();
  await until(() => seen.some((event) => event.kind === 'ConversationStateUpdateEvent'));
  return { conversation, seen };
}

const status = async (conversation) => (await conversation.state.refresh()).execution_status;
const settled = (conversation) =>
  until(async () => {
    const now = await status(conversation);
    return now !== 'running' && now;
  });
const kinds = (events) => events.map((event) => event.kind);

test('a task runs to its end and the socket tells every event', async () => {
  const { conversation, seen } = await begin(ECHO + FINISH);
  await conversation.sendMessage('do it');
  await conversation.run();
  assert.equal(await settled(conversation), 'finished');
  const stored = await conversation.state.events.search();
  await until(() => stored.items.every((event) => seen.some((told) => told.id === event.id)));
  const results = stored.items.filter((event) => event.kind === 'ObservationEvent');
  assert.match(JSON.stringify(results[0].observation.content), /hello from the script/);
  assert.equal(await conversation.getAgentFinalResponse(), 'all done');
  const stats = await conversation.conversationStats();
  assert.ok(stats.usage_to_metrics.agent.accumulated_token_usage.prompt_tokens > 0);
  await conversation.close();
});

test('pieces of a reply are streamed', async () => {
  const steps = '- text: one two three four five six seven\n  chunk_delay_ms: 5\n';
  const { conversation, seen } = await begin(steps, { llm: { stream: true } });
  await conversation.sendMessage('count');
  await conversation.run();
  await settled(conversation);
  const text = () => seen.map((event) => (event.kind === 'StreamingDeltaEvent' ? event.content : '')).join('');
  await until(() => text() === 'one two three four five six seven');
  await conversation.close();
});

test('a pause lets the step end, an interrupt does not', async () => {
  const client = new ConversationClient({ host: desk.host, apiKey: KEY });
  const command = 'touch begun; sleep 1; echo slept';
  const { conversation } = await begin(
    `- tool_calls: [{name: terminal, arguments: {command: ${command}}}]\n` +
      '- tool_calls: [{name: terminal, arguments: {command: touch again; sleep 60}}]\n' +
      FINISH,
  );
  await conversation.sendMessage('do it');
  await conversation.run();
  await until(() => fs.existsSync(path.join(desk.work, 'begun')));
  await conversation.pause();
  assert.equal(await status(conversation), 'paused');
  await until(async () => kinds((await conversation.state.events.search()).items).includes('ObservationEvent'));
  await conversation.run();
  await until(() => fs.existsSync(path.join(desk.work, 'again')));
  await client.interruptConversation(conversation.id);
  assert.equal(await settled(conversation), 'paused');
  await conversation.run();
  assert.equal(await settled(conversation), 'finished');
  await conversation.close();
});

test('an action waits until it is confirmed or rejected', async () => {
  const { conversation } = await begin(ECHO + ECHO + FINISH);
  await conversation.setConfirmationPolicy({ kind: 'AlwaysConfirm' });
  await conversation.sendMessage('look');
  await conversation.run();
  assert.equal(await settled(conversation), 'waiting_for_confirmation');
  await conversation.sendConfirmationResponse(false, 'not today');
  assert.ok(kinds(await conversation.state.events.getEvents()).includes('UserRejectObservation'));
  await conversation.run();
  assert.equal(await settled(conversation), 'waiting_for_confirmation');
  await conversation.setConfirmationPolicy({ kind: 'NeverConfirm' });
  await conversation.sendConfirmationResponse(true);
  assert.equal(await settled(conversation), 'finished');
  await conversation.close();
});

test('secrets reach commands and stay hidden', async () => {
  const step = `- tool_calls: [{name: terminal, arguments: {command: 'echo "$TOKEN" \${#TOKEN}'}}]\n`;
  const { conversation } = await begin(step + FINISH);
  await conversation.updateSecrets({ TOKEN: 'open-sesame' });
  await conversation.sendMessage('go');
  await conversation.run();
  await settled(conversation);
  const events = JSON.stringify(await conversation.state.events.getEvents());
  assert.ok(!events.includes('open-sesame'));
  assert.match(events, /<secret-hidden> 11/);
  await conversation.close();
});

test('a tool of the client is called, and the client is told', async () => {
  const client = new ConversationClient({ host: desk.host, apiKey: KEY });
  const steps = '- tool_calls: [{name: show_panel, arguments: {panel: files}}]\n' + FINISH;
  const tool = {
    name: 'show_panel',
    description: 'Shows a panel to the user.',
    parameters: { type: 'object', properties: { panel: { type: 'string' } }, required: ['panel'] },
  };
  const info = await client.createConversation({
    agent: desk.agent(steps),
    workspace: { kind: 'LocalWorkspace', working_dir: desk.work },
    client_tools: [tool],
  });
  await client.sendEvent(info.id, { role: 'user', content: [{ type: 'text', text: 'show' }] }, { run: true });
  await until(async () => (await client.getConversation(info.id)).execution_status === 'finished');
  const { items } = await client.searchEvents(info.id, {});
  const call = items.find((event) => event.tool_name === 'show_panel' && event.kind === 'ActionEvent');
  assert.equal(call.action.panel, 'files');
  assert.ok(items.some((event) => event.kind === 'ObservationEvent' && event.tool_name === 'show_panel'));
});

test('a copy goes its own way', async () => {
  const { conversation } = await begin('- text: first\n- text: second\n');
  await conversation.sendMessage('go');
  await conversation.run();
  await settled(conversation);
  const copy = await conversation.fork({ title: 'copy' });
  assert.notEqual(copy.id, conversation.id);
  const before = await conversation.state.events.count();
  await copy.sendMessage('and now?');
  await copy.run();
  assert.equal(await settled(copy), 'finished');
  assert.equal(await conversation.state.events.count(), before);
  assert.ok((await copy.state.events.count()) > before);
  assert.equal(await conversation.askAgent('what is up?'), 'second');
  const first = (await copy.state.events.search({ kind: 'MessageEvent' })).items[0];
  await copy.navigateTo(first.id);
  await conversation.close();
});

test('a history of a thousand events is read whole', async () => {
  const steps = "- tool_calls: [{name: think, arguments: {thought: 'thought {{n}}'}}]\n  repeat: 340\n" + FINISH;
  const { conversation, seen } = await begin(steps);
  await conversation.sendMessage('think');
  await conversation.run();
  assert.equal(await settled(conversation), 'finished');
  const workspace = new RemoteWorkspace({ host: desk.host, workingDir: desk.work, apiKey: KEY });
  const again = new RemoteConversation(desk.agent(FINISH), workspace, { conversationId: conversation.id });
  await again.start();
  const events = await again.state.events.getEvents();
  assert.ok(events.length >= 1000);
  assert.equal(new Set(events.map((event) => event.id)).size, events.length);
  assert.equal(await again.state.events.count(), events.length);
  const stored = new Set(events.map((event) => event.id));
  await until(() => seen.filter((event) => stored.has(event.id)).length >= events.length);
  await conversation.close();
});

test('a conversation goes on after the server was started again', async () => {
  const own = await new Desk().start();
  const slow = '- tool_calls: [{name: terminal, arguments: {command: sleep 2; echo slept}}]\n';
  const { conversation, seen } = await begin(ECHO + slow + FINISH, { on: own, onError: () => {} });
  await conversation.sendMessage('do it');
  await conversation.run();
  await until(() => kinds(seen).filter((kind) => kind === 'ActionEvent').length === 2);
  await own.stop();
  await own.start();
  assert.equal(await until(() => status(conversation).catch(() => false)), 'paused');
  await conversation.run();
  assert.equal(await settled(conversation), 'finished');
  const events = await conversation.state.events.getEvents();
  assert.match(JSON.stringify(events), /slept/);
  const last = events.at(-1);
  await until(() => seen.some((event) => event.id === last.id)); // its socket has come back by itself
  await conversation.close();
  await own.stop();
});

test('a wrong key opens nothing', async () => {
  const client = new ConversationClient({ host: desk.host, apiKey: 'wrong' });
  await assert.rejects(client.countConversations(), (error) => error.status === 401);
});
