// A server of ours to try a client on: started, stopped and started again, with scripted models.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

// The TypeScript client asks for its socket library by `require`, which modules do not have.
globalThis.require = createRequire(import.meta.url);

export const KEY = 'k-of-the-test';
export const FINISH = '- tool_calls: [{name: finish, arguments: {message: all done}}]\n';
export const ECHO = '- tool_calls: [{name: terminal, arguments: {command: echo hello from the script}}]\n';

/** A data directory, a workspace and the server on them. */
export class Desk {
  constructor() {
    this.root = fs.mkdtempSync(path.join(os.tmpdir(), 'deft-clients-'));
    this.work = path.join(this.root, 'work');
    fs.mkdirSync(this.work);
    this.port = '0';
    this.scripts = 0;
  }

  async start() {
    const options = ['serve', '--port', this.port, '--data-dir', path.join(this.root, 'data')];
    this.server = spawn(process.env.DEFT, options, {
      cwd: this.work,
      // An executor lives long enough for a server to come back; no longer, or it outlives the tests.
      env: { PATH: process.env.PATH, HOME: this.root, SESSION_API_KEY: KEY, DEFT_EXECUTOR_LINGER: '20' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = await once(readline.createInterface({ input: this.server.stdout }), 'line');
    this.host = line.split(' at ')[1].trim().replace(/\/$/, '');
    this.port = new URL(this.host).port;
    return this;
  }

  async stop() {
    const ended = once(this.server, 'exit');
    this.server.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
  }

  script(steps) {
    const file = path.join(this.root, `${this.scripts++}.yaml`);
    fs.writeFileSync(file, steps);
    return `script:${file}`;
  }

  agent(steps, llm = {}) {
    return {
      kind: 'Agent',
      llm: { model: this.script(steps), api_key: 'sk-never-to-be-seen', usage_id: 'agent', ...llm },
      tools: [{ name: 'terminal' }, { name: 'file_editor' }],
    };
  }
}

/** Waits for what a condition gives, as soon as it gives something. */
export async function until(condition, limit = 30_000) {
  const deadline = Date.now() + limit;
  for (;;) {
    const found = await condition();
    if (found) return found;
    assert.ok(Date.now() < deadline, 'it never comes');
    await new Promise((wake) => setTimeout(wake, 20));
  }
}
