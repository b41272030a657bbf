// `npm run bench:proxy`: the activator against nginx, haproxy, http-proxy and node:http, on the same two cores.
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { defaultCacheDirectory, findOrBuild } from "../../scripts/tools/build-tool.ts";
import { cpuTimeOf } from "../../test/programs/process-cost.ts";
import { heldMax, measureHeld } from "./held.ts";
import { http2Loads, measureCallLatency, runHttp2Load } from "./http2-load.ts";
import { type Latency, measureLatency } from "./latency.ts";
import { type Load, type LoadResult, runLoad, warmSeconds } from "./load.ts";
import { ports } from "./ports.ts";
import { runRawClient } from "./raw-client-process.ts";
import { type ConnectDeps, type Running, startBackends, startWorld, subjects, writeCertificate } from "./subjects.ts";
import { type Measurement, report } from "./table.ts";

const say = (line: string) => process.stderr.write(`${line}\n`);

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "2" },
    proxies: { type: "string", default: "rouse,nginx,haproxy,node:http,http-proxy" },
    only: { type: "string" },
  },
});
const seconds = Number(values.seconds);
/** At a thousand requests a second, p99 needs at least this duration. */
const latencySecondsMin = 4;
const latency = "latency at 1000/s";
const callLatency = "latency of gRPC at 1000/s";
const held = `${heldMax} held`;
const heldStreams = `${heldMax} held over HTTP/2`;
/** The limit of one namespace is a part of the whole. */
const heldLimit = 2 * heldMax;

const loads: Readonly<Record<string, Load>> = {
  "small GET, 16 connections": { path: "/", connections: 16 },
  "small GET, 64 connections": { path: "/", connections: 64 },
  "small GET, 256 connections": { path: "/", connections: 256 },
  "64 KB down": { path: "/64k", connections: 32 },
  "1 MB down": { path: "/1m", connections: 16 },
  "64 KB up": { path: "/up", connections: 32, uploadBytes: 65_536 },
  "1 MB up": { path: "/up", connections: 16, uploadBytes: 1_048_576 },
  "16 KB in chunks": { path: "/chunked", connections: 32 },
  "new connections": { path: "/", connections: 64, newConnections: true },
  "1000 hosts": { path: "/", connections: 64, manyHosts: true },
};
const scenarios = [
  ...[...Object.keys(loads), "WebSocket echo", latency, held],
  ...[...Object.keys(http2Loads), callLatency, heldStreams],
].filter((name) => values.only === undefined || values.only.split(",").some((each) => name.includes(each)));
/** nginx has a request queue only in its commercial edition. Here it opens a connection for each request, and holds none. */
const holdsNothing = new Set(["nginx"]);
/** The port of each proxy that speaks HTTP/2 in clear text. */
const http2Ports: Readonly<Record<string, number>> = {
  ...{ rouse: ports.proxy, before: ports.proxy, nginx: ports.proxyHttp2, haproxy: ports.proxyHttp2 },
};
/** Of those that speak HTTP/2 over TLS. */
const tlsPorts: Readonly<Record<string, number>> = {
  ...{ rouse: ports.proxyTls, before: ports.proxyTls, nginx: ports.proxyTls, haproxy: ports.proxyTls },
  "sandbox-router": ports.proxyTls,
};
/** The router takes no host names. With the address of the Pod it looks nothing up. */
const ownFields: Readonly<Record<string, readonly string[]>> = {
  "sandbox-router": [
    ...["x-sandbox-id: s0", "x-sandbox-namespace: default"],
    ...[`x-sandbox-port: ${ports.files}`, "x-sandbox-pod-ip: 127.0.0.1"],
  ],
};
const { env: environment } = process;
const cacheDirectory = defaultCacheDirectory(environment);
const k6 = scenarios.includes(latency) ? await findK6() : undefined;

const directory = mkdtempSync(join(tmpdir(), "rouse-proxy-"));
chmodSync(directory, 0o755); // nginx reads files as another user
try {
  await writeCertificate(directory);
  await using _backends = await startBackends(directory);
  await using world = await startWorld();
  const measurements: Measurement[] = [];
  for (let round = 1; round <= Number(values.rounds); round += 1) {
    for (const proxy of values.proxies.split(",")) {
      const start = subjects[proxy];
      if (!start) throw new Error(`there is no proxy ${proxy}`);
      const around = { directory, api: world.url };
      for (const [scenario, measured] of await measureAll(proxy, (more) => start({ ...around, ...more }))) {
        measurements.push({ scenario, proxy, ...measured });
        say(`round ${round} ${proxy} ${scenario}: ${JSON.stringify(measured)}`);
      }
    }
  }
  process.stdout.write(report(measurements));
} finally {
  rmSync(directory, { recursive: true, force: true });
}

async function findK6(): Promise<string | undefined> {
  const found = await findOrBuild("k6", { cacheDirectory, environment, say });
  say(`Latency is measured by ${found ? "k6" : "our own client: there is no Go here to build k6 with"}.`);
  return found;
}

type Measured = readonly [scenario: string, Omit<Measurement, "scenario" | "proxy">];

type Start = (more: Pick<ConnectDeps, "held" | "http2">) => Promise<Running>;

/** All scenarios of one proxy. For held requests the proxy is restarted, so that garbage of other scenarios is not measured. */
async function measureAll(proxy: string, start: Start): Promise<readonly Measured[]> {
  const measured: Measured[] = [];
  const others = scenarios.filter((name) => loads[name] || name === "WebSocket echo" || name === latency);
  if (others.length > 0) {
    await using subject = await start({});
    for (const scenario of others) measured.push([scenario, await measure(scenario, subject)]);
  }
  const reportsLag = proxy === "rouse" || proxy === "before";
  for (const scenario of [held, heldStreams].filter((name) => scenarios.includes(name))) {
    const port = scenario === heldStreams ? http2Ports[proxy] : ports.proxy;
    if (holdsNothing.has(proxy) || port === undefined) continue;
    await using subject = await start({ held: heldLimit, ...(scenario === heldStreams ? { http2: true } : {}) });
    const about = { pid: subject.pid, reportsLag };
    measured.push([scenario, await measureHeld(about, directory, scenario === heldStreams ? port : undefined)]);
  }
  return [...measured, ...(await measureHttp2(proxy, start))];
}

/** For HTTP/2 the proxy is restarted: it listens for TLS there, and an older activator accepts HTTP/2 only with a flag. */
async function measureHttp2(proxy: string, start: Start): Promise<readonly Measured[]> {
  const measured: Measured[] = [];
  const ofHttp2 = scenarios.flatMap((name) => {
    const load = http2Loads[name];
    const port = load?.isEncrypted ? tlsPorts[proxy] : http2Ports[proxy];
    return (load || name === callLatency) && port !== undefined ? [{ name, load, port }] : [];
  });
  if (ofHttp2.length === 0) return measured;
  await using subject = await start({ http2: true });
  for (const { name, load, port } of ofHttp2) {
    const target = { directory, port, fields: ownFields[proxy] };
    measured.push([
      name,
      load
        ? await measureLoad(subject, (time) => runHttp2Load(load, target, time))
        : asMeasurement(await measureCallLatency(target, Math.max(seconds, latencySecondsMin))),
    ]);
  }
  return measured;
}

function asMeasurement({ p50, p99, missed }: Latency): Pick<Measurement, "p50" | "p99" | "failures"> {
  return { p50, p99, failures: missed };
}

async function measure(scenario: string, { pid }: Running): Promise<Omit<Measurement, "scenario" | "proxy">> {
  if (scenario === latency) {
    return asMeasurement(await measureLatency(k6, Math.max(seconds, latencySecondsMin), directory));
  }
  const load = loads[scenario];
  return measureLoad({ pid }, load && ((time) => runLoad(load, time, directory)));
}

/** The proxy is warmed by the load before. Without one it is the echo of WebSockets. */
async function measureLoad(
  { pid }: Pick<Running, "pid">,
  load: ((seconds: number) => Promise<LoadResult>) | undefined,
): Promise<Omit<Measurement, "scenario" | "proxy">> {
  await load?.(warmSeconds);
  const before = cpuTimeOf(pid);
  const { requests: count, seconds: took, failures } = load ? await load(seconds) : await echo();
  const after = cpuTimeOf(pid);
  const cpuSeconds = after.all - before.all;
  return {
    perSecond: count / took,
    perCpuSecond: count / cpuSeconds,
    cpuUs: (cpuSeconds / count) * 1e6,
    kernelUs: ((after.kernel - before.kernel) / count) * 1e6,
    failures,
  };
}

async function echo(): Promise<LoadResult> {
  const { messages: requests, seconds: took } = await runRawClient("echo", seconds);
  return { requests, seconds: took, failures: 0 };
}
