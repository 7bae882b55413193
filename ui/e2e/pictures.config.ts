import { defineConfig } from "vitest/config";

export default defineConfig({ test: { include: ["e2e/*.e2e-pictures.ts"], testTimeout: 120_000, hookTimeout: 600_000 } });
