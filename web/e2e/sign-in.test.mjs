// People who sign in with an account of another server: in a real browser, with its cookies.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { browser, checkAccess, PATIENCE, Server, status } from "./harness.mjs";

const { DEFT_BINARY } = process.env;
const server = new Server();
const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const codes = new Map();

const coded = (value) => Buffer.from(value).toString("base64url");

function token(nonce) {
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: issuer(), aud: "deft", sub: "s-1", nonce, iat: now, exp: now + 60, preferred_username: "ann" };
  const text = `${coded(JSON.stringify({ alg: "ES256" }))}.${coded(JSON.stringify(claims))}`;
  return `${text}.${coded(sign("sha256", Buffer.from(text), { key: privateKey, dsaEncoding: "ieee-p1363" }))}`;
}

/** A provider that agrees without asking. */
const provider = createServer(async (request, response) => {
  const url = new URL(request.url, issuer());
  const answer = (value) => response.setHeader("Content-Type", "application/json").end(JSON.stringify(value));
  if (url.pathname === "/authorize") {
    const code = randomUUID();
    codes.set(code, url.searchParams);
    const back = new URL(url.searchParams.get("redirect_uri"));
    back.search = new URLSearchParams({ code, state: url.searchParams.get("state") }).toString();
    response.writeHead(302, { Location: back.href }).end();
  } else if (url.pathname === "/token") {
    let body = "";
    for await (const piece of request) body += piece;
    const sent = new URLSearchParams(body);
    const asked = codes.get(sent.get("code"));
    const challenge = createHash("sha256").update(sent.get("code_verifier")).digest("base64url");
    assert.equal(challenge, asked.get("code_challenge"));
    answer({ id_token: token(asked.get("nonce")) });
  } else if (url.pathname === "/keys") {
    answer({ keys: [publicKey.export({ format: "jwk" })] });
  } else {
    const at = (path) => issuer() + path;
    answer({ issuer: issuer(), authorization_endpoint: at("/authorize"), token_endpoint: at("/token"), jwks_uri: at("/keys") });
  }
});
const issuer = () => `http://127.0.0.1:${provider.address().port}`;

before(async () => {
  provider.listen(0, "127.0.0.1");
  await once(provider, "listening");
  mkdirSync(join(server.data, ".deft"));
  const script = join(server.data, "script.json");
  writeFileSync(script, JSON.stringify([{ text: "Hello, Ann." }]));
  const model = `[models.scripted]\nmodel = "script:${script}"\n`;
  const settings = `${model}[oidc]\nissuer = "${issuer()}"\nclient_id = "deft"\ncreate_users = true\ndefault_role = "member"\n`;
  writeFileSync(join(server.data, ".deft", "deft.toml"), settings);
  const env = { PATH: process.env.PATH, HOME: server.data };
  const data = ["--data-dir", join(server.data, "data")];
  execFileSync(DEFT_BINARY, ["users", "add", "boss", "--role", "admin", ...data], { env, cwd: server.data });
  await server.start();
});
after(async () => {
  await browser.close();
  provider.close();
  await server.remove();
});

test("somebody signs in, follows a conversation, and signs out", async () => {
  const context = await browser.newContext({ colorScheme: "light", reducedMotion: "reduce" });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  await page.goto(server.origin);
  const button = page.getByRole("button", { name: "Sign in" });
  await button.waitFor();
  await checkAccess(page, "the page that asks for a key");
  await button.click();
  await page.getByRole("button", { name: "Try the demo" }).waitFor();
  assert.equal(new URL(page.url()).hash, "");
  assert.equal(await page.evaluate(() => document.cookie), "", "no script sees the key");

  const body = {
    agent: { kind: "Agent", llm: { model: "scripted" }, tools: [] },
    workspace: { working_dir: join(server.data, "data", "homes", "ann") },
    initial_message: { role: "user", content: [{ type: "text", text: "Begin." }] },
  };
  const id = await page.evaluate(async (body) => {
    const headers = { "X-Session-API-Key": "cookie", "Content-Type": "application/json" };
    const answer = await fetch("/api/conversations", { method: "POST", headers, body: JSON.stringify(body) });
    return (await answer.json()).id;
  }, body);
  await page.goto(`${server.origin}/c/${id}`);
  await status(page, "Finished");
  await page.getByText("Hello, Ann.").waitFor();
  assert.equal((await server.ask("GET", `/api/conversations/${id}`)).status, 404, "it is Ann's alone");

  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("tab", { name: "This browser" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await button.waitFor();
  const left = await page.evaluate(async () => {
    const headers = { "X-Session-API-Key": "cookie" };
    return (await fetch("/api/conversations/count", { headers })).status;
  });
  assert.equal(left, 401);
  await context.close();
});
