import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ChildProgram } from "../../test/programs/child-program.ts";
import { writeKubeconfig } from "../../test/programs/kubeconfig.ts";

export interface ControllerProcess extends AsyncDisposable {
  readonly pid: number;
  /** The number of reconciles so far, by kind. */
  rounds(): Promise<ReadonlyMap<string, number>>;
  /** Writes a CPU profile of the next `seconds` to a file. */
  profile(seconds: number, file: string): Promise<void>;
}

const metricsPort = 19_111;
const healthPort = 19_112;
const metricsUrl = `http://127.0.0.1:${metricsPort}`;

/** Starts the controller with all its kinds on an API server, as a process of its own. */
export async function startControllerProcess(server: string): Promise<ControllerProcess> {
  await using stack = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "rouse-claims-"));
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const flags = [
    ...[`--kubeconfig=${writeKubeconfig(directory, server)}`, "--extensions", "--leader-elect=false"],
    ...[`--metrics-bind-address=127.0.0.1:${metricsPort}`, `--health-probe-bind-address=127.0.0.1:${healthPort}`],
    ...["--enable-webhook=false", "--enable-pprof", "--zap-log-level=error"],
  ];
  const tell = (line: string) => void process.stderr.write(`${line}\n`);
  const controller = stack.use(new ChildProgram("controller/main.ts", flags, tell));
  await controller.untilServes(`http://127.0.0.1:${healthPort}/readyz`);
  const started = stack.move();
  return {
    pid: controller.pid,
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
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}
