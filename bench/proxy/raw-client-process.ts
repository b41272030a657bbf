import { type ChildProcessByStdio, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import { cores } from "./subjects.ts";

const run = promisify(execFile);
const program = join(import.meta.dirname, "raw-client.ts");
const flags = (...args: readonly string[]) => ["-c", cores.rest, process.execPath, program, ...args];

/** Runs a scenario of our own client on the core of the load; returns its output. */
export async function runRawClient(scenario: "latency" | "echo", seconds: number) {
  return JSON.parse((await run("taskset", flags(scenario, String(seconds)))).stdout);
}

/** A client whose requests are held until they are released. */
export interface HeldClient {
  /** Releases the requests; resolves once all are answered. */
  release(): Promise<{ readonly good: number; readonly connections: number; readonly releasedMs: number }>;
}

export async function holdRequests(count: number, port: "closed" | "silent"): Promise<HeldClient> {
  const client: ChildProcessByStdio<Writable, Readable, null> = spawn("taskset", flags("held", String(count), port), {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const failed = once(client, "exit").then(([code]) => {
    throw new Error(`the client exited with ${code}`);
  });
  failed.catch(() => {}); // the rejection is reported to the callers
  const nextLine = async () => String(await Promise.race([once(client.stdout, "data"), failed]));
  await nextLine();
  return {
    async release() {
      client.stdin.write("go\n");
      return JSON.parse(await nextLine());
    },
  };
}
