import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["**/*.test.ts"],
    exclude: ["node_modules/**", "test/kubernetes/**", "test/kubectl/**"],
    pool: "forks",
    testTimeout: 15_000,
    hookTimeout: 15_000,
  },
});
