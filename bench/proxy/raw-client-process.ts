import { type ChildProcessByStdio, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import { cores } from "./subjects.ts";

const run = promisify(execFile);
const flags = (...args: readonly string[]) => ["-c", cores.rest, process.execPath, ...args];
const programAt = (name: string) => join(import.meta.dirname, name);

/** Runs a scenario of our own client on the core of the load; returns its output. */
export async function runRawClient(scenario: "latency" | "echo", seconds: number) {
  return JSON.parse((await run("taskset", flags(programAt("raw-client.ts"), scenario, String(seconds)))).stdout);
}

/** A client whose requests are held until they are released. */
export interface HeldClient {
  /** Releases the requests; resolves once all are answered. */
  release(): Promise<{ readonly good: number; readonly connections: number; readonly releasedMs: number }>;
}

/** How the requests are held. */
export interface Holding {
  readonly count: number;
  /** Of the back-end, until the release. */
  readonly port: "closed" | "silent";
  /** Where the proxy speaks HTTP/2. Absent: HTTP/1.1. */
  readonly http2Port?: number | undefined;
}

export async function holdRequests({ count, port, http2Port }: Holding): Promise<HeldClient> {
  const program =
    http2Port === undefined
      ? [programAt("raw-client.ts"), "held", String(count), port]
      : [programAt("held-streams-client.ts"), String(count), port, String(http2Port)];
  const client: ChildProcessByStdio<Writable, Readable, null> = spawn("taskset", flags(...program), {
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
