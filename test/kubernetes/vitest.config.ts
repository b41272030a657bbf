import { defineConfig } from "vitest/config";
import { InOrder } from "./support/in-order.ts";

export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    include: ["test/kubernetes/**/*.test.ts"],
    globalSetup: ["test/kubernetes/support/bring-cluster-up.ts"],
    pool: "forks",
    // One node and two cores: files that run beside each other would measure each other.
    fileParallelism: false,
    sequence: { sequencer: InOrder },
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
