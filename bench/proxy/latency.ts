import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { hostOf, ports } from "./ports.ts";
import { runRawClient } from "./raw-client-process.ts";
import { cores } from "./subjects.ts";

const run = promisify(execFile);

export interface Latency {
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Requests that failed, or that could not start in time. */
  readonly missed: number;
}

/** The latency at a thousand requests a second, by k6, or by our own client if there is no k6. */
export async function measureLatency(k6: string | undefined, seconds: number, directory: string): Promise<Latency> {
  if (k6 === undefined) return runRawClient("latency", seconds);
  const summary = join(directory, "latency.json");
  const env = {
    ...process.env,
    URL: `http://127.0.0.1:${ports.proxy}/`,
    HOST: hostOf(ports.files),
    SECONDS: String(seconds),
    SUMMARY: summary,
    K6_NO_USAGE_REPORT: "true",
  };
  const script = join(import.meta.dirname, "how-long-does-a-request-take.js");
  await run("taskset", ["-c", cores.rest, k6, "run", "--quiet", script], { env, maxBuffer: 16 << 20 });
  return JSON.parse(readFileSync(summary, "utf8"));
}
