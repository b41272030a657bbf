import { type ChildProcessByStdio, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import { cores } from "./subjects.ts";

const run = promisify(execFile);
const program = join(import.meta.dirname, "raw-client.ts");
const flags = (...args: readonly string[]) => ["-c", cores.rest, process.execPath, program, ...args];

/** Runs a scenario of our own client to its end, on the core of the load; returns what it prints. */
export async function runRawClient(scenario: "latency" | "echo", seconds: number) {
  return JSON.parse((await run("taskset", flags(scenario, String(seconds)))).stdout);
}

/** A crowd whose requests are on their way, and wait until they are let go. */
export interface Crowd {
  /** Lets them go: resolves once all are answered. */
  release(): Promise<{ readonly good: number; readonly connections: number; readonly releasedMs: number }>;
}

export async function holdCrowd(count: number, port: "closed" | "silent"): Promise<Crowd> {
  const client: ChildProcessByStdio<Writable, Readable, null> = spawn("taskset", flags("held", String(count), port), {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const failed = once(client, "exit").then(([code]) => {
    throw new Error(`the crowd ended with ${code}`);
  });
  failed.catch(() => {}); // it ends in good order when all is said
  const nextLine = async () => String(await Promise.race([once(client.stdout, "data"), failed]));
  await nextLine();
  return {
    async release() {
      client.stdin.write("go\n");
      return JSON.parse(await nextLine());
    },
  };
}
