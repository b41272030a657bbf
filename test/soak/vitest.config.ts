import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/soak/*.test.ts"],
    pool: "forks",
    // Each file starts half a dozen processes.
    maxWorkers: 1,
    testTimeout: 120_000,
    hookTimeout: 60_000,
  },
});
