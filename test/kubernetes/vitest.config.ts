import { defineConfig } from "vitest/config";
import { InOrder } from "./support/in-order.ts";

const everyTest = {
  pool: "forks",
  testTimeout: 180_000,
  hookTimeout: 240_000,
} as const;

const alone = "test/kubernetes/**/*.alone.test.ts";
const record = "test/kubernetes/record/*.test.ts";
/** They need a cluster with gVisor, and have a configuration of their own. */
const gvisor = "test/kubernetes/gvisor/*.test.ts";
/** They need no cluster, and have a configuration of their own. */
const withHelm = "test/kubernetes/helm/*.test.ts";

export default defineConfig({
  test: {
    root: new URL("../..", import.meta.url).pathname,
    globalSetup: ["test/kubernetes/support/bring-cluster-up.ts"],
    sequence: { sequencer: InOrder },
    projects: [
      {
        test: {
          ...everyTest,
          // Each uses its own namespaces and mostly waits.
          name: "side by side",
          include: ["test/kubernetes/**/*.test.ts"],
          exclude: [alone, record, gvisor, withHelm],
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...everyTest,
          // They stop, kill, upgrade or measure programs that the others need.
          name: "alone",
          include: [alone],
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...everyTest,
          // They check the logs and audit records of all others.
          name: "record",
          include: [record],
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
