import { defineConfig } from "vitest/config";

// Run separately, because it needs Go: Helm and kubectl against an API server of Kubernetes, without nodes.
export default defineConfig({
  test: {
    root: new URL("../../..", import.meta.url).pathname,
    include: ["test/kubernetes/helm/**/*.test.ts"],
    globalSetup: ["test/kubernetes/helm/support/provide-tools.ts"],
    pool: "forks",
    // Each test has an API server of its own, and waits for it a good part of its time.
    maxWorkers: 2,
    testTimeout: 300_000,
    hookTimeout: 180_000,
  },
});
