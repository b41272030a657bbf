// `npm run bench:proxy`: the activator against nginx, haproxy, http-proxy and node:http, on the same two cores.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs, promisify } from "node:util";
import { type Load, runLoad } from "./load.ts";
import { ports } from "./ports.ts";
import { cpuSeconds, residentBytes } from "./process-cost.ts";
import { cores, type Running, startBackends, startWorld, subjects } from "./subjects.ts";
import { type Measurement, report } from "./table.ts";

const run = promisify(execFile);
const say = (line: string) => process.stderr.write(`${line}\n`);

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "4" },
    proxies: { type: "string", default: Object.keys(subjects).join(",") },
    only: { type: "string" },
  },
});
const seconds = Number(values.seconds);

const loads: Readonly<Record<string, Load>> = {
  "small GET": { path: "/", connections: 64 },
  "64 KB down": { path: "/64k", connections: 32 },
  "1 MB down": { path: "/1m", connections: 16 },
  "64 KB up": { path: "/up", connections: 32, uploadBytes: 65_536 },
  "1 MB up": { path: "/up", connections: 16, uploadBytes: 1_048_576 },
  "16 KB in chunks": { path: "/chunked", connections: 32 },
  "new connections": { path: "/", connections: 64, newConnections: true },
  "1000 hosts": { path: "/", connections: 64, manyHosts: true },
};
const scenarios = [...Object.keys(loads), "WebSocket echo", "latency at 1000/s"].filter(
  (name) => values.only === undefined || values.only.split(",").some((each) => name.includes(each)),
);

const directory = mkdtempSync(join(tmpdir(), "rouse-proxy-"));
chmodSync(directory, 0o755); // nginx reads files as another user
try {
  await using _backends = await startBackends(directory);
  await using world = await startWorld();
  const around = { directory, api: world.url };
  // First of all: where a Pod has had the time to open its port and has not, nobody is held for long.
  if (values.only === undefined || values.only.includes("held")) {
    await using activator = await subjects["rouse"]?.(around);
    if (activator) process.stdout.write(`${await held(activator)}\n\n`);
  }
  const measurements: Measurement[] = [];
  for (let round = 1; round <= Number(values.rounds); round += 1) {
    for (const proxy of values.proxies.split(",")) {
      const start = subjects[proxy];
      if (!start) throw new Error(`there is no proxy ${proxy}`);
      await using subject = await start(around);
      await runLoad(loads["small GET"] ?? { path: "/", connections: 8 }, 1, directory); // warm
      for (const scenario of scenarios) {
        const measured = await measure(scenario, subject);
        measurements.push({ scenario, proxy, ...measured });
        say(`round ${round} ${proxy} ${scenario}: ${JSON.stringify(measured)}`);
      }
    }
  }
  process.stdout.write(report(measurements));
} finally {
  rmSync(directory, { recursive: true, force: true });
}

async function measure(scenario: string, { pid }: Running): Promise<Omit<Measurement, "scenario" | "proxy">> {
  const load = loads[scenario];
  const before = cpuSeconds(pid);
  if (load) {
    const { requests, seconds: took, failures } = await runLoad(load, seconds, directory);
    return { perSecond: requests / took, perCpuSecond: requests / (cpuSeconds(pid) - before), failures };
  }
  const {
    p50,
    p99,
    missed,
    messages,
    seconds: took,
  } = await rawClient(scenario.startsWith("Web") ? "echo" : "latency");
  const cpu = cpuSeconds(pid) - before;
  if (messages === undefined) return { p50, p99, failures: missed };
  return { perSecond: messages / took, perCpuSecond: messages / cpu, failures: 0 };
}

async function rawClient(scenario: string) {
  const program = join(import.meta.dirname, "raw-client.ts");
  const flags = ["-c", cores.rest, process.execPath, program, scenario, String(seconds)];
  return JSON.parse((await run("taskset", flags)).stdout);
}

/** What ten thousand held requests weigh, and how long it takes to let them go. */
async function held({ pid }: Running): Promise<string> {
  const count = 10_000;
  const before = residentBytes(pid);
  const program = join(import.meta.dirname, "raw-client.ts");
  const child = spawn("taskset", ["-c", cores.rest, process.execPath, program, "held", String(count)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  await delay(3_000);
  const kilobytes = (residentBytes(pid) - before) / count / 1024;
  const lag = async () => {
    const text = await (await fetch(`http://127.0.0.1:${ports.ops}/metrics`)).text();
    return Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)?.[1]) * 1_000;
  };
  await lag(); // each reading begins anew
  child.stdin.write("go\n");
  const [line] = await once(child.stdout, "data");
  const { good, releasedMs } = JSON.parse(String(line));
  const fixed = (value: number) => value.toFixed(1);
  return `${count} held: ${fixed(kilobytes)} KiB each; ${good} answered within ${fixed(releasedMs)} ms; the loop stood still for at most ${fixed(await lag())} ms.`;
}
