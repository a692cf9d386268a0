// A forge on this machine: git's own server behind a token, and what it answers about repositories.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const TOKEN = "tok-secret-123";

/** A forge: git's own server behind a token, and pull requests. */
export async function forge() {
  const root = mkdtempSync(join(tmpdir(), "deft-forge-"));
  mkdirSync(join(root, "ann"));
  execFileSync("git", ["init", "-q", "--bare", join(root, "ann/project.git")]);
  const requests = [];
  const http = createServer(async (request, response) => {
    const url = new URL(request.url, "http://forge");
    const parts = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts);
    if (url.pathname.startsWith("/api/v1/")) {
      requests.push({ path: url.pathname, who: request.headers.authorization, body: body.length > 0 && JSON.parse(body) });
      response.setHeader("Content-Type", "application/json");
      if (url.pathname === "/api/v1/repos/search") {
        return response.end(JSON.stringify({ data: [{ id: 1, full_name: "ann/project", private: true }] }));
      }
      return response.end(JSON.stringify({ default_branch: "main", html_url: "https://forge.example/pulls/1" }));
    }
    const given = Buffer.from((request.headers.authorization ?? "").replace("Basic ", ""), "base64").toString();
    if (!given.endsWith(`:${TOKEN}`)) return response.writeHead(401, { "WWW-Authenticate": "Basic" }).end();
    const env = {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      REMOTE_USER: "ann",
      REQUEST_METHOD: request.method,
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
    };
    const git = spawn("git", ["http-backend"], { env, stdio: ["pipe", "pipe", "inherit"] });
    git.stdin.end(body);
    const said = [];
    for await (const part of git.stdout) said.push(part);
    const whole = Buffer.concat(said);
    const end = whole.indexOf("\r\n\r\n");
    const head = whole.subarray(0, end).toString().split("\r\n").map((line) => line.split(": "));
    for (const [name, value] of head) if (name !== "Status") response.setHeader(name, value);
    response.end(whole.subarray(end + 4));
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  return { host: `127.0.0.1:${http.address().port}`, root, requests, close: () => http.close() };
}
