import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The server that `npm run dev` forwards to.
const server = process.env.DEFT_SERVER ?? "http://127.0.0.1:3000";

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "dist/site",
    target: "es2022",
    // Data in the address would be a hole in the content policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { "/api": server, "/sockets": { target: server, ws: true }, "/server_info": server } },
  test: { include: ["src/**/*.test.{ts,tsx}"] },
});
