import { defineConfig } from "vitest/config";

// Run separately, because it needs kubectl: the paths in KUBECTL_BINARIES, separated by colons, or else from the PATH.
export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    include: ["test/kubectl/**/*.test.ts"],
    pool: "forks",
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
