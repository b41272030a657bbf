import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { cpuSeconds, residentBytes } from "../proxy/process-cost.ts";

const root = join(import.meta.dirname, "..", "..");

/** One of our programs as a process of its own, with what it costs. */
export interface Program extends AsyncDisposable {
  /** What a process has used of a processor so far, in seconds. */
  cpuSeconds(): number;
  residentBytes(): number;
  /** Calls to the API server so far, watches that began among them; without those for a lease. */
  apiCalls(): Promise<number>;
}

/** Starts a program; resolves once it says so. Its metrics are where its log says, or at `metricsUrl`. */
export async function startProgram(
  main: "controller" | "activator",
  flags: readonly string[],
  metricsUrl?: string,
): Promise<Program> {
  const child = spawn(process.execPath, [join(root, main, "main.ts"), ...flags], { stdio: ["ignore", "pipe", "pipe"] });
  const started = await untilStarted(child, main);
  const metrics = metricsUrl ?? `${String(started["metrics"])}/metrics`;
  const { pid = 0 } = child;
  return {
    cpuSeconds: () => cpuSeconds(pid),
    residentBytes: () => residentBytes(pid),
    async apiCalls() {
      const page = await (await fetch(metrics)).text();
      const counts = page.matchAll(/^rest_client_requests_total\{.*\} (\d+)$/gm);
      return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
    },
    async [Symbol.asyncDispose]() {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}

function untilStarted(child: ChildProcess, main: string): Promise<Readonly<Record<string, unknown>>> {
  const lines: string[] = [];
  return new Promise((resolve, reject) => {
    for (const input of [child.stdout, child.stderr]) {
      if (!input) continue;
      createInterface({ input }).on("line", (line) => {
        if (lines.length < 30) lines.push(line);
        if (line.includes('"msg":"started"')) resolve(JSON.parse(line));
      });
    }
    child.once("exit", () => reject(new Error(`the ${main} ended:\n${lines.join("\n")}`)));
  });
}
