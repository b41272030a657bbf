import { join } from "node:path";
import { inject } from "vitest";
import { run } from "../../../../cluster/command.ts";

const main = join(import.meta.dirname, "..", "..", "..", "..", "scripts", "migrate", "main.ts");

/** `npm run migrate` as a user runs it; what it says. Rejects when it ends with another status than 0. */
export const runMigrate = (...args: readonly string[]): Promise<string> =>
  run(process.execPath, [main, `--kubeconfig=${inject("kubeconfig")}`, ...args]);
