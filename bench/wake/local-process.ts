import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import type { WakeTimeline } from "../../api/between-programs/wake-timeline.ts";

export interface LocalProcess extends AsyncDisposable {
  readonly api: string;
  readonly kubeconfig: string;
  readonly activator: string;
  readonly domain: string;
  /** The entries of the activator's access log for the wakes so far. */
  readonly wakes: readonly WakeTimeline[];
}

const startWithinMs = 60_000;

/** Starts local mode as `npm start` does, in a process of its own, without persistent data. */
export async function startLocalProcess(): Promise<LocalProcess> {
  const directory = mkdtempSync(join(tmpdir(), "rouse-bench-"));
  const readyFile = join(directory, "ready.json");
  const main = join(import.meta.dirname, "..", "..", "local", "main.ts");
  const flags = ["--ephemeral", "--port=0", "--api-port=0", "--log-level=info", `--ready-file=${readyFile}`];
  const child = spawn(process.execPath, [main, ...flags], { stdio: ["ignore", "ignore", "pipe"] });
  const wakes: WakeTimeline[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => {
    if (!line.includes('"wake"')) return;
    const { wake } = JSON.parse(line);
    if (wake) wakes.push(wake);
  });

  for (let waitedMs = 0; !existsSync(readyFile); waitedMs += 50) {
    if (child.exitCode !== null || waitedMs > startWithinMs) throw new Error("local mode did not start");
    await delay(50);
  }
  return {
    ...JSON.parse(readFileSync(readyFile, "utf8")),
    wakes,
    async [Symbol.asyncDispose]() {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
