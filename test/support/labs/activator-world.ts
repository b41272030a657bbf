import { createServer, type RequestListener, type Server } from "node:http";
import { connect, type Socket } from "node:net";
import { Registry } from "prom-client";
import { parseActivatorConfig } from "../../../activator/config/config.ts";
import { type Activator, startActivator } from "../../../activator/start.ts";
import type { WakeTimeline } from "../../../api/between-programs/wake-timeline.ts";
import { type Sandbox, type SandboxSpec, sandboxType } from "../../../api/kinds/sandbox.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { type Logger, silentLogger } from "../../../lib/log/log.ts";
import { type Clock, systemClock } from "../../../lib/time/clock.ts";
import { noTracer, type Tracer } from "../../../lib/tracing/tracer.ts";
import { eventually } from "../eventually.ts";
import { type Program, startTinyKubelet, type TinyKubelet } from "../fakes/tiny-kubelet.ts";
import { withinRights } from "../fakes/within-rights.ts";
import { type MemoryApi, openMemoryApi } from "../memory-api.ts";

export const sandboxPort = 8888;

export interface ActivatorWorld extends AsyncDisposable {
  readonly api: MemoryApi;
  readonly kubelet: TinyKubelet;
  readonly activator: Activator;
  readonly registry: Registry;
  readonly wakes: readonly WakeTimeline[];
  /** Creates a suspended sandbox with this program, and waits until its status says that it is suspended. */
  asleep(name: string, program?: Program, spec?: Partial<SandboxSpec>): Promise<void>;
  /** Creates a running sandbox. */
  awake(name: string, program?: Program, spec?: Partial<SandboxSpec>): Promise<void>;
  sandbox(name: string): Promise<Sandbox>;
}

export interface ActivatorWorldParts {
  /** A proxy or other server that the activator uses as its API server. */
  readonly clientOf?: (api: MemoryApi) => KubeClient;
  readonly tracer?: Tracer;
  readonly log?: Logger;
  /** The activator's. */
  readonly clock?: Clock;
}

const local = [
  "--http-bind-address=127.0.0.1:0",
  "--health-probe-bind-address=127.0.0.1:0",
  "--metrics-bind-address=",
  "--authz-mode=allow-all",
  "--allow-loopback-pod-ip",
  "--access-log=false",
  "--drain-settle=0s",
];

/** An API server in memory, a fake kubelet, and an activator, connected by real sockets. */
export async function openActivatorWorld(
  flags: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  {
    clientOf = ({ client }) => client,
    tracer = noTracer,
    log = silentLogger,
    clock = systemClock,
  }: ActivatorWorldParts = {},
): Promise<ActivatorWorld> {
  await using opened = new AsyncDisposableStack();
  const api = opened.use(await openMemoryApi());
  const kubelet = opened.use(startTinyKubelet(api.client));
  const registry = new Registry();
  const wakes: WakeTimeline[] = [];
  const args = [...(env["ROUTER_AUTH_TOKEN"] ? local.filter((each) => !each.includes("authz")) : local), ...flags];
  const parts = { client: withinRights("activator", clientOf(api)), clock, log, registry, tracer };
  const config = parseActivatorConfig(args, env);
  const activator = opened.use(await startActivator(config, { ...parts, onWake: (timeline) => wakes.push(timeline) }));
  await eventually(async () => (await fetch(`${activator.opsUrl}/readyz`)).status === 200);
  const create = async (name: string, program: Program | undefined, spec: Partial<SandboxSpec>) => {
    if (program) kubelet.run(name, program);
    await api.client.create(sandboxType, aSandbox(name, spec));
  };
  const sandbox = (name: string) => api.client.get(sandboxType, { namespace: "default", name });
  const closing = opened.move();
  return {
    api,
    kubelet,
    activator,
    registry,
    wakes,
    sandbox,
    async asleep(name, program, spec = {}) {
      await create(name, program, { operatingMode: "Suspended", ...spec });
      await eventually(async () => (await sandbox(name)).status?.conditions?.some(({ type }) => type === "Suspended"));
    },
    async awake(name, program, spec = {}) {
      await create(name, program, spec);
      await eventually(async () => kubelet.made(name) > 0);
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** The number of requests that the activator holds now. */
export const heldRequests = async ({ registry }: ActivatorWorld): Promise<number> =>
  (await registry.getSingleMetric("rouse_activator_held_requests")?.get())?.values[0]?.value ?? 0;

export function aSandbox(name: string, spec: Partial<SandboxSpec> = {}): Sandbox {
  const podTemplate = { spec: { containers: [{ name: "main", image: "program" }] } };
  const type = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox" };
  return {
    ...type,
    metadata: { name, namespace: "default" },
    spec: { podTemplate, operatingMode: "Running", ...spec },
  };
}

/** A program that is an HTTP server on the sandbox port. */
export const httpProgram =
  (handler: RequestListener, arrange: (server: Server) => void = () => {}): Program =>
  async (podIp) => {
    const server = createServer({ requestTimeout: 0 }, handler);
    arrange(server);
    const sockets = new Set<Socket>();
    server.on("connection", (socket) => {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
      // After an upgrade it has no listener of the server's any more, and a tunnel that is cut is reset.
      socket.on("error", () => {});
    });
    await new Promise<void>((resolve) => server.listen(sandboxPort, podIp, resolve));
    return {
      async [Symbol.asyncDispose]() {
        for (const socket of sockets) socket.destroy();
        await new Promise<void>((resolve) => server.close(() => resolve()));
      },
    };
  };

export interface RawConnection extends Disposable {
  readonly socket: Socket;
  /** Everything received so far, one character for each byte. */
  readonly received: string;
  send(text: string | Buffer): void;
  /** Resolves with everything received once it contains the text. */
  until(text: string): Promise<string>;
  /** Resolves with everything received once the other side has closed. */
  closed(): Promise<string>;
}

/** A TCP connection to the activator that sends exactly the given bytes. */
export async function rawConnection({ proxyPort }: Activator): Promise<RawConnection> {
  const socket = connect({ port: proxyPort, host: "127.0.0.1", allowHalfOpen: true });
  let received = "";
  socket.on("data", (chunk: Buffer) => {
    received += chunk.toString("latin1");
  });
  socket.on("error", () => {});
  const over = new Promise<void>((resolve) => {
    for (const event of ["end", "close"] as const) socket.once(event, () => resolve());
  });
  await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  return {
    socket,
    get received() {
      return received;
    },
    send: (text) => void socket.write(typeof text === "string" ? Buffer.from(text, "latin1") : text),
    async until(text) {
      await eventually(() => received.includes(text));
      return received;
    },
    async closed() {
      await over;
      return received;
    },
    [Symbol.dispose]: () => socket.destroy(),
  };
}
