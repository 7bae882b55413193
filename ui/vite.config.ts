import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/** Text is compressed once, here, and sent as it is by the server. */
function precompress(): Plugin {
  const text = /\.(js|css|svg|html)$/;
  const walk = (folder: string): string[] =>
    readdirSync(folder).flatMap((name) => {
      const path = join(folder, name);
      return statSync(path).isDirectory() ? walk(path) : [path];
    });
  return {
    name: "precompress",
    apply: "build",
    closeBundle() {
      for (const path of walk("dist/site").filter((file) => text.test(file))) {
        const raw = readFileSync(path);
        const quality = { [constants.BROTLI_PARAM_QUALITY]: 11 };
        writeFileSync(`${path}.br`, brotliCompressSync(raw, { params: quality }));
        writeFileSync(`${path}.gz`, gzipSync(raw, { level: 9 }));
      }
    },
  };
}

const server = process.env.EVENHAND_URL ?? "http://127.0.0.1:8700";

export default defineConfig({
  plugins: [react(), tailwindcss(), precompress()],
  build: { outDir: "dist/site", emptyOutDir: true, target: "es2022", modulePreload: { polyfill: false } },
  server: { proxy: { "/api": server, "/auth": server, "/meta": server, "/health": server } },
  test: {
    environment: "jsdom",
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["src/test-setup.ts"],
    testTimeout: 60_000,
  },
} as Parameters<typeof defineConfig>[0]);
