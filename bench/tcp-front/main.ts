// `npm run bench:tcp`: the memory of activator ports and of the connections that wait on them, and how fast and how evenly the
// connections are released.
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { drainPaths, listeningPortsLimit, parseListeningPorts } from "../../api/between-programs/drain-protocol.ts";
import { servedKinds } from "../../apiserver/kinds/served-kinds.ts";
import { startMemoryApiServer } from "../../apiserver/start-memory-api-server.ts";
import { connectionFor } from "../../kube/client/connection.ts";
import { createKubeClient } from "../../kube/client/http-client.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { ChildProgram } from "../../test/programs/child-program.ts";
import { writeKubeconfig } from "../../test/programs/kubeconfig.ts";
import { residentBytes } from "../../test/programs/process-cost.ts";
import { spreadOf, spreadTable } from "../statistics.ts";
import { until } from "../until.ts";
import { containerPort, makeSandboxes, makeSlices, type Pair } from "./world.ts";

const { values } = parseArgs({
  options: {
    sandboxes: { type: "string", default: "10000" },
    connections: { type: "string", default: "10000" },
    /** The number of sandboxes that get connections. */
    over: { type: "string", default: "100" },
  },
});
const [sandboxes, connections, over] = [values.sandboxes, values.connections, values.over].map(Number) as [
  number,
  number,
  number,
];
const opsPort = 19_101;
const drainPort = 19_102;
/** A loopback address that other programs of this machine do not use. */
const frontHost = "127.88.0.1";
const say = (line: string) => void process.stdout.write(`${line}\n`);
const fixed = (value: number) => value.toFixed(1);

const directory = mkdtempSync(join(tmpdir(), "rouse-tcp-"));
try {
  await run();
} finally {
  rmSync(directory, { recursive: true, force: true });
}

async function run(): Promise<void> {
  const parts = { clock: systemClock, log: silentLogger, host: "127.0.0.1", port: 0, kinds: servedKinds() };
  await using api = await startMemoryApiServer(parts);
  await using client = createKubeClient(connectionFor({ server: api.url }), { userAgent: "rouse-bench" });
  const uids = await makeSandboxes(client, sandboxes);
  await using activator = await startActivator(api.url);
  await settled(activator.pid);
  const withoutListeners = residentBytes(activator.pid);
  const pairs = await makeSlices(client, uids);
  const beganMs = systemClock.ticksMs();
  const confirmed = await confirmAll(pairs);
  const seconds = (systemClock.ticksMs() - beganMs) / 1000;
  await settled(activator.pid);
  const bytes = (residentBytes(activator.pid) - withoutListeners) / confirmed.length;
  say(`${confirmed.length} ports: ${fixed(bytes / 1024)} KiB each, the last ${fixed(seconds)} s after the last slice.`);
  await holdAndRelease(confirmed.slice(0, over), activator.pid);
  say(`The activator's event loop was blocked for at most ${await metric("nodejs_eventloop_lag_max_seconds")} s.`);
}

/** The ports on which the activator accepts. Other programs that listen on all addresses may have a few of the others. */
async function confirmAll(pairs: readonly Pair[]): Promise<readonly Pair[]> {
  const confirmed: Pair[] = [];
  for (let from = 0; from < pairs.length; from += listeningPortsLimit) {
    const ports = pairs.slice(from, from + listeningPortsLimit);
    let answered: readonly Pair[] = [];
    await until(async () => {
      answered = await ask(ports);
      return answered.length >= ports.length * 0.99;
    }, 0);
    confirmed.push(...answered);
  }
  return confirmed;
}

async function ask(ports: readonly Pair[]): Promise<readonly Pair[]> {
  const url = `http://127.0.0.1:${drainPort}${drainPaths.listening}`;
  const answer = await fetch(url, { method: "POST", body: JSON.stringify({ ports }) });
  return parseListeningPorts(await answer.json())?.ports ?? [];
}

/** All connections wait for ports that do not accept yet. Once they accept, each client waits for its greeting. */
async function holdAndRelease(pairs: readonly Pair[], pid: number): Promise<void> {
  const beforeBytes = residentBytes(pid);
  const clients: Promise<number>[] = [];
  const sockets: Socket[] = [];
  for (let n = 0; n < connections; n += 1) {
    const socket = connect(pairs[n % pairs.length]?.activatorPort ?? 0, frontHost);
    sockets.push(socket);
    const failed = once(socket, "close").then(() => Number.NaN);
    clients.push(
      Promise.race([once(socket, "data").then(() => systemClock.ticksMs()), failed.catch(() => Number.NaN)]),
    );
    socket.on("error", () => {});
    if (n % 256 === 0) await delay(5);
  }
  await until(async () => Number(await metric("rouse_activator_held_requests")) >= connections);
  await settled(pid);
  const heldBytes = (residentBytes(pid) - beforeBytes) / connections;
  const server = createServer((socket) => void socket.on("error", () => {}).write("hello\n"));
  await once(server.listen({ port: containerPort, host: "127.0.0.1", backlog: 4_096 }), "listening");
  const openMs = systemClock.ticksMs();
  const greetedMs = await Promise.all(clients);
  const taxes = greetedMs.map((ms) => ms - openMs);
  say(`${connections} connections to ${pairs.length} sandboxes: ${fixed(heldBytes / 1024)} KiB each while they wait;`);
  say(`${taxes.filter(Number.isFinite).length} of them were proxied after the port had opened:\n`);
  const ofSandbox = pairs.map((_, at) => taxes.filter((_tax, n) => n % pairs.length === at));
  const rows = [
    ["from open port to first byte", taxes.filter(Number.isFinite)],
    ["median of each sandbox", ofSandbox.map((one) => spreadOf(one.filter(Number.isFinite)).p50)],
    ["last of each sandbox", ofSandbox.map((one) => spreadOf(one.filter(Number.isFinite)).max)],
  ] as const;
  say(spreadTable(rows.map(([name, each]) => [name, spreadOf(each)])));
  for (const socket of sockets) socket.destroy();
  server.close();
}

/** Waits until the memory of the process is stable. */
async function settled(pid: number): Promise<void> {
  let beforeBytes = 0;
  await until(async () => {
    const bytes = residentBytes(pid);
    const changedBytes = Math.abs(bytes - beforeBytes);
    beforeBytes = bytes;
    return changedBytes <= 524_288;
  }, 1_500);
}

async function metric(name: string): Promise<string> {
  const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
  return (
    text
      .split("\n")
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length + 1) ?? "?"
  );
}

async function startActivator(server: string): Promise<ChildProgram> {
  const flags = [
    ...[`--kubeconfig=${writeKubeconfig(directory, server)}`, "--http-bind-address=127.0.0.1:0"],
    ...["--metrics-bind-address=", `--health-probe-bind-address=127.0.0.1:${opsPort}`, "--log-level=error"],
    ...["--authz-mode=allow-all", "--allow-loopback-pod-ip"],
    ...[`--drain-bind-address=127.0.0.1:${drainPort}`, `--tcp-front-bind-address=${frontHost}`],
    ...["--held-max-total=50000", "--held-max-per-namespace=50000", "--held-max-per-sandbox=50000"],
  ];
  const activator = new ChildProgram("activator/main.ts", flags, (line) => void process.stderr.write(`${line}\n`));
  await activator.untilServes(`http://127.0.0.1:${opsPort}/readyz`);
  return activator;
}
