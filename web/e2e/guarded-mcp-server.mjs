// A small MCP server at an address, which lets in only who has agreed on its page (OAuth with PKCE, clients that
// register themselves).

import { createHash, randomUUID } from "node:crypto";
import { createServer } from "node:http";

const RESULTS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "guarded", version: "1" },
  }),
  "tools/list": () => ({ tools: [{ name: "tell", description: "Tells.", inputSchema: { type: "object", properties: {} } }] }),
};

async function bodyOf(request) {
  let text = "";
  for await (const piece of request) text += piece;
  return text;
}

/** Serves on loopback; `close` ends it. */
export async function serveGuarded() {
  const codes = new Map();
  const token = randomUUID();
  const server = createServer(async (request, response) => {
    const { origin } = own;
    const url = new URL(request.url, origin);
    const json = (status, value, headers = {}) => {
      response.writeHead(status, { "Content-Type": "application/json", ...headers });
      response.end(value && JSON.stringify(value));
    };
    if (url.pathname.startsWith("/.well-known/oauth-protected-resource")) {
      return json(200, { resource: `${origin}/mcp`, authorization_servers: [origin] });
    }
    if (url.pathname.startsWith("/.well-known/")) {
      return json(200, {
        issuer: origin,
        authorization_endpoint: `${origin}/agree`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ["code"],
        grant_types_supported: ["authorization_code"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: ["none"],
      });
    }
    if (url.pathname === "/register") {
      return json(201, { ...JSON.parse(await bodyOf(request)), client_id: "somebody" });
    }
    if (url.pathname === "/agree") {
      const code = randomUUID();
      codes.set(code, url.searchParams.get("code_challenge"));
      const back = new URL(url.searchParams.get("redirect_uri"));
      back.searchParams.set("code", code);
      back.searchParams.set("state", url.searchParams.get("state"));
      response.writeHead(200, { "Content-Type": "text/html" });
      return response.end(`<a href="${back.href.replaceAll("&", "&amp;")}">I agree</a>`);
    }
    if (url.pathname === "/token") {
      const form = new URLSearchParams(await bodyOf(request));
      const proof = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
      if (codes.get(form.get("code")) !== proof) return json(400, { error: "invalid_grant" });
      return json(200, { access_token: token, token_type: "Bearer", expires_in: 3600 });
    }
    if (request.headers.authorization !== `Bearer ${token}`) {
      const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
      return json(401, { error: "invalid_token" }, { "WWW-Authenticate": `Bearer resource_metadata="${metadata}"` });
    }
    if (request.method !== "POST") return json(405);
    const { id, method, params } = JSON.parse(await bodyOf(request));
    if (id === undefined) return json(202);
    const result = RESULTS[method]?.(params);
    json(200, { jsonrpc: "2.0", id, ...(result ? { result } : { error: { code: -32601, message: "unknown" } }) });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const own = { origin: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
  return own;
}
