import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["**/*.test.ts"],
    exclude: ["node_modules/**", "test/kubernetes/**", "test/kubectl/**", "test/soak/**"],
    pool: "forks",
    // Most tests wait for processes and sockets, so fewer workers than this leave processors unused.
    maxWorkers: 4,
    testTimeout: 15_000,
    hookTimeout: 15_000,
  },
});
