import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: new URL("../../..", import.meta.url).pathname,
    globalSetup: ["test/kubernetes/gvisor/bring-gvisor-up.ts"],
    include: ["test/kubernetes/gvisor/*.test.ts"],
    pool: "forks",
    maxWorkers: 1,
    testTimeout: 180_000,
    hookTimeout: 240_000,
  },
});
