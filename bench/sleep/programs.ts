import { ChildProgram } from "../../test/programs/child-program.ts";
import { cpuSeconds, residentBytes } from "../../test/programs/process-cost.ts";

/** One of our programs as a process of its own, and its cost. */
export interface Program extends AsyncDisposable {
  /** The CPU time of the process so far, in seconds. */
  cpuSeconds(): number;
  residentBytes(): number;
  /** Calls to the API server so far, including started watches, without those for a lease. */
  apiCalls(): Promise<number>;
}

/** Starts a program; resolves once it logs that it has started. Its metrics are at the address in its log, or at `metricsUrl`. */
export async function startProgram(
  main: "controller" | "activator",
  flags: readonly string[],
  metricsUrl?: string,
): Promise<Program> {
  await using stack = new AsyncDisposableStack();
  const program = stack.use(new ChildProgram(`${main}/main.ts`, flags));
  const started = await program.started;
  const metrics = metricsUrl ?? `${String(started["metrics"])}/metrics`;
  const running = stack.move();
  return {
    cpuSeconds: () => cpuSeconds(program.pid),
    residentBytes: () => residentBytes(program.pid),
    async apiCalls() {
      const page = await (await fetch(metrics)).text();
      const counts = page.matchAll(/^rest_client_requests_total\{.*\} (\d+)$/gm);
      return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
