import { defineConfig } from "vitest/config";

// Run by itself: it needs kubectl. KUBECTL_BINARIES names the ones to run, separated by colons; else the PATH does.
export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    include: ["test/kubectl/**/*.test.ts"],
    pool: "forks",
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
