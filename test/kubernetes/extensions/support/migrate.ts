import { join } from "node:path";
import { inject } from "vitest";
import { run } from "../../../../cluster/command.ts";

const main = join(import.meta.dirname, "..", "..", "..", "..", "scripts", "migrate", "main.ts");

/** `npm run migrate` as a user runs it; returns the output. Rejects if the exit status is not 0. */
export const runMigrate = (...args: readonly string[]): Promise<string> =>
  run(process.execPath, [main, `--kubeconfig=${inject("kubeconfig")}`, ...args]);
