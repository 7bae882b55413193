import { defineConfig } from "vitest/config";

/** What is done on a full demo of a release build: the README's pictures, or figures. */
export default defineConfig({
  test: {
    include: [`e2e/*.e2e-${process.env.E2E}.ts`],
    testTimeout: 300_000,
    hookTimeout: 600_000,
    disableConsoleIntercept: true,
  },
});
