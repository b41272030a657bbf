import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Spread } from "../statistics.ts";

const run = promisify(execFile);
const script = join(import.meta.dirname, "how-long-does-a-wake-take.js");

export interface Scenario {
  readonly name: "one" | "together";
  readonly title: string;
  readonly count: number;
}

export const scenarios: readonly Scenario[] = [
  { name: "one", title: "one at a time", count: 200 },
  { name: "together", title: "woken together", count: 50 },
];

/** The address of the sandboxes `hello` and `crowd-0`, `crowd-1`, ..., and how to reach them. */
export interface WakeTarget {
  readonly api: string;
  readonly apiToken: string;
  readonly activator: string;
  /** Empty if the activator requires no token. */
  readonly activatorToken: string;
  readonly namespace: string;
  readonly domain: string;
}

/** The wake tax of `count` wakes, with k6 as the client. Rejects if one of them gets no response. */
export async function measureWithK6(program: string, { name, count }: Scenario, target: WakeTarget): Promise<Spread> {
  const directory = mkdtempSync(join(tmpdir(), "rouse-k6-"));
  const summary = join(directory, "summary.json");
  const env = {
    HOME: directory,
    API: target.api,
    TOKEN: target.apiToken,
    ACTIVATOR: target.activator,
    ACTIVATOR_TOKEN: target.activatorToken,
    NAMESPACE: target.namespace,
    DOMAIN: target.domain,
    SCENARIO: name,
    COUNT: String(count),
    SUMMARY: summary,
    K6_NO_USAGE_REPORT: "true",
  };
  try {
    await run(program, ["run", "--quiet", script], { env, maxBuffer: 16 << 20 });
    const { tax } = JSON.parse(readFileSync(summary, "utf8"));
    return { count: tax.count, p50: tax["p(50)"], p90: tax["p(90)"], p99: tax["p(99)"], max: tax.max };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
