// Packs what is worth packing, so that the server need not, and says what a first visit loads.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const LIMIT = 300 * 1024;
const site = new URL("../dist/site", import.meta.url).pathname;
const packed = new Map();
for (const entry of readdirSync(site, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !/\.(html|js|css|svg)$/.test(entry.name)) continue;
  const path = join(entry.parentPath, entry.name);
  const gzip = gzipSync(readFileSync(path), { level: 9 });
  writeFileSync(`${path}.gz`, gzip);
  packed.set(path.slice(site.length), gzip.length);
}

const page = readFileSync(join(site, "index.html"), "utf8");
const first = ["/index.html", ...[...page.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1])];
const size = first.reduce((sum, path) => sum + (packed.get(path) ?? 0), 0);
console.log(`first load: ${Math.ceil(size / 1024)} KB compressed (limit ${LIMIT / 1024})`);
if (size > LIMIT) process.exit(1);
