// The official TypeScript client against `deft serve`: files, git, commands, settings, hooks and what can be chosen.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { Desk, FINISH, KEY } from './desk.mjs';

const { RemoteConversation, RemoteWorkspace } = await import('@openhands/typescript-client');
const { ConversationClient, FileClient, HooksClient, ProfilesClient, ServerClient, SettingsClient, ToolClient } =
  await import('@openhands/typescript-client/clients');

let desk, options, workspace;
before(async () => {
  desk = await new Desk().start();
  options = { host: desk.host, apiKey: KEY };
  workspace = new RemoteWorkspace({ ...options, workingDir: desk.work });
});
after(() => desk.stop());

test('commands', async () => {
  const result = await workspace.executeCommand('echo out; echo err >&2; exit 3', desk.work);
  assert.deepEqual([result.exit_code, result.stdout.trim(), result.stderr.trim()], [3, 'out', 'err']);
});

test('files', async () => {
  const file = path.join(desk.work, 'up.txt');
  assert.ok((await workspace.uploadText('hello', file)).success);
  assert.equal(fs.readFileSync(file, 'utf8'), 'hello');
  assert.equal(await workspace.downloadAsText(file), 'hello');
  const files = new FileClient(options);
  assert.equal((await files.getHome()).home, desk.root);
  fs.mkdirSync(path.join(desk.work, 'sub'));
  const page = await files.searchSubdirectories(desk.work);
  assert.ok(page.items.some((item) => item.name === 'sub'));
});

test('git', async () => {
  const repository = path.join(desk.work, 'repository');
  fs.mkdirSync(repository);
  execFileSync('git', ['init', '-q'], { cwd: repository });
  fs.writeFileSync(path.join(repository, 'new.txt'), 'new');
  const changes = await workspace.gitChanges(repository);
  assert.deepEqual(changes.map((change) => [change.status, change.path]), [['ADDED', 'new.txt']]);
  assert.equal((await workspace.gitDiff(path.join(repository, 'new.txt'))).modified.trim(), 'new');
});

test('settings, secrets and profiles of the server', async () => {
  const settings = new SettingsClient(options);
  const model = desk.script('- text: hello\n');
  await settings.updateSettings({ agent_settings_diff: { llm: { model, api_key: 'sk-kept' } } });
  const masked = await settings.getSettings();
  assert.equal(masked.agent_settings.llm.model, model);
  assert.ok(masked.llm_api_key_is_set && !JSON.stringify(masked).includes('sk-kept'));
  const plain = await settings.getSettings({ exposeSecrets: 'plaintext' });
  assert.equal(plain.agent_settings.llm.api_key, 'sk-kept');
  await settings.upsertSecret({ name: 'TOK', value: 'v1', description: 'a token' });
  assert.deepEqual((await settings.listSecrets()).secrets, [{ name: 'TOK', description: 'a token' }]);
  assert.equal(await settings.getSecret('TOK'), 'v1');
  await settings.deleteSecret('TOK');
  assert.ok((await settings.getAgentSchema()).sections.length > 0);
  const profiles = new ProfilesClient(options);
  await profiles.saveProfile('p1', { llm: { model } });
  await profiles.activateProfile('p1');
  assert.equal((await profiles.listProfiles()).active_profile, 'p1');
});

test('conversations are listed, counted, renamed and deleted', async () => {
  const client = new ConversationClient(options);
  const conversation = new RemoteConversation(desk.agent(FINISH), workspace);
  await conversation.start();
  assert.equal(await client.countConversations(), 1);
  await conversation.setTitle('renamed');
  const [found] = (await client.searchConversations({ limit: 10 })).items;
  assert.deepEqual([found.id, found.title], [conversation.id, 'renamed']);
  const nobody = '00000000-0000-4000-8000-000000000000';
  const many = await client.getConversations([conversation.id, nobody]);
  assert.deepEqual(many.map((info) => info?.id), [conversation.id, undefined]);
  await client.deleteConversation(conversation.id);
  await assert.rejects(client.getConversation(conversation.id), (error) => error.status === 404);
});

test('the server says what it is and what can be chosen', async () => {
  const server = new ServerClient(options);
  assert.equal((await server.getServerInfo()).version, '1.58.0');
  assert.equal((await server.getReady()).status, 'ready');
  const tools = await new ToolClient(options).listTools();
  assert.ok(tools.includes('terminal') && tools.includes('file_editor'));
  const hooks = await new HooksClient(options).loadHooks({ project_dir: desk.work });
  assert.equal(hooks.hook_config, null);
});
