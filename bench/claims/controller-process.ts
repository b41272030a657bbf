import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../lib/clock.ts";

export interface ControllerProcess extends AsyncDisposable {
  readonly pid: number;
  /** How many reconciles there have been of each kind. */
  rounds(): Promise<ReadonlyMap<string, number>>;
  /** Writes a CPU profile of the next `seconds` to a file. */
  profile(seconds: number, file: string): Promise<void>;
}

const metricsPort = 19_111;
const healthPort = 19_112;
const metricsUrl = `http://127.0.0.1:${metricsPort}`;

/** Starts the controller with all its kinds on an API server, as a process of its own. */
export async function startControllerProcess(server: string): Promise<ControllerProcess> {
  const directory = mkdtempSync(join(tmpdir(), "rouse-claims-"));
  const kubeconfig = join(directory, "kubeconfig");
  const context = { name: "bench", context: { cluster: "bench", user: "bench" } };
  const named = { clusters: [{ name: "bench", cluster: { server } }], users: [{ name: "bench", user: {} }] };
  const config = { apiVersion: "v1", kind: "Config", ...named, contexts: [context], "current-context": "bench" };
  writeFileSync(kubeconfig, JSON.stringify(config));
  const main = join(import.meta.dirname, "..", "..", "controller", "main.ts");
  const flags = [
    ...[`--kubeconfig=${kubeconfig}`, "--extensions", "--leader-elect=false", "--enable-webhook=false"],
    ...[`--metrics-bind-address=127.0.0.1:${metricsPort}`, `--health-probe-bind-address=127.0.0.1:${healthPort}`],
    ...["--enable-pprof", "--zap-log-level=error"],
  ];
  const child = spawn(process.execPath, [main, ...flags], { stdio: ["ignore", "ignore", "inherit"] });
  const isUp = () =>
    fetch(`http://127.0.0.1:${healthPort}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isUp())) {
    if (child.exitCode !== null) throw new Error("the controller did not start");
    await systemClock.sleep(100);
  }
  return {
    pid: child.pid ?? 0,
    async rounds() {
      const text = await (await fetch(`${metricsUrl}/metrics`)).text();
      const counts = new Map<string, number>();
      for (const [, kind = "", count] of text.matchAll(
        /^controller_runtime_reconcile_total\{controller="(\w+)".*\} (\d+)/gm,
      )) {
        counts.set(kind, (counts.get(kind) ?? 0) + Number(count));
      }
      return counts;
    },
    async profile(seconds, file) {
      const answer = await fetch(`${metricsUrl}/debug/pprof/profile?seconds=${Math.ceil(seconds)}`);
      writeFileSync(file, await answer.text());
    },
    async [Symbol.asyncDispose]() {
      const gone = once(child, "exit");
      child.kill("SIGTERM");
      await gone;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
