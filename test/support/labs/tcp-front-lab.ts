import { connect, createServer, type Socket } from "node:net";
import { drainPaths, parseListeningPorts } from "../../../api/between-programs/drain-protocol.ts";
import {
  type EndpointSlice,
  endpointSliceType,
  formatTcpFront,
  managedByLabel,
  serviceNameLabel,
  type TcpFront,
  tcpFrontManager,
  tcpFrontPorts,
  tcpFrontSliceName,
} from "../../../api/between-programs/tcp-front.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { sandboxType } from "../../../api/kinds/sandbox.ts";
import { tcpFrontAnnotation } from "../../../api/rules/keys.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { eventually } from "../eventually.ts";
import type { Program } from "../fakes/tiny-kubelet.ts";
import { type ActivatorWorld, openActivatorWorld } from "./activator-world.ts";

/** An EndpointSlice as the controller writes it, for one port of a sandbox in the namespace `default`. */
export function aFrontSlice(front: TcpFront, changed: Partial<EndpointSlice> = {}): EndpointSlice {
  const { sandboxName, sandboxUid, ports } = front;
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: tcpFrontSliceName(sandboxUid),
      namespace: "default",
      labels: { [managedByLabel]: tcpFrontManager, [serviceNameLabel]: sandboxName },
      annotations: { [tcpFrontAnnotation]: formatTcpFront(front) },
    },
    addressType: "IPv4",
    endpoints: [],
    ports: ports.map(({ name, activatorPort: port }) => ({ name, port, protocol: "TCP" })),
    ...changed,
  };
}

/** Creates an EndpointSlice that binds an activator port to a port of a sandbox. */
export function allocate(
  client: KubeClient,
  sandbox: { readonly name: string; readonly uid: string },
  { activatorPort, containerPort }: { readonly activatorPort: number; readonly containerPort: number },
  changed: Partial<EndpointSlice> = {},
): Promise<Stored<EndpointSlice>> {
  const ports = [{ name: "main", containerPort, activatorPort }];
  return client.create(
    endpointSliceType,
    aFrontSlice({ sandboxName: sandbox.name, sandboxUid: sandbox.uid, ports }, changed),
  );
}

let lastPort = tcpFrontPorts.first + ((process.pid * 131) % 20_000);

/** A free port of this machine in the range of activator ports. */
export async function freeFrontPort(): Promise<number> {
  for (;;) {
    lastPort += 1;
    if (lastPort > tcpFrontPorts.last) lastPort = tcpFrontPorts.first;
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false)).listen(lastPort, "127.0.0.1", () => resolve(true));
    });
    await new Promise<void>((resolve) => server.close(() => resolve()));
    if (isFree) return lastPort;
  }
}

/** The port of `tcpProgram` programs. */
export const tcpPort = 5432;

/** A program that is a TCP server. Its connections are cut when it ends. */
export const tcpProgram =
  (onConnection: (socket: Socket) => void): Program =>
  async (podIp) => {
    const sockets = new Set<Socket>();
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      sockets.add(socket);
      socket.on("error", () => {}).once("close", () => sockets.delete(socket));
      onConnection(socket);
    });
    await new Promise<void>((resolve) => server.listen(tcpPort, podIp, resolve));
    return {
      async [Symbol.asyncDispose]() {
        for (const socket of sockets) socket.destroy();
        await new Promise<void>((resolve) => server.close(() => resolve()));
      },
    };
  };

/** Sends a greeting first, as databases and mail servers do, and then echoes each line with its name in front. */
export const greeter = (name: string) => (socket: Socket) => {
  socket.write(`hello from ${name}\n`);
  let rest = "";
  socket.on("data", (bytes: Buffer) => {
    const lines = (rest + bytes.toString()).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) socket.write(`${name}: ${line}\n`);
  });
  socket.on("end", () => socket.end("bye\n"));
};

export interface TcpTalk extends Disposable {
  readonly socket: Socket;
  readonly received: string;
  send(text: string): void;
  /** Resolves with everything received once it contains the text. */
  until(text: string): Promise<string>;
  /** Resolves with how it ended: by a FIN of the other side, or by a reset. */
  over(): Promise<"ended" | "reset">;
}

/** A client of any protocol. */
export async function talkTo(port: number, host = "127.0.0.1"): Promise<TcpTalk> {
  const socket = connect({ port, host, allowHalfOpen: true });
  let received = "";
  let ending: "ended" | "reset" | undefined;
  socket.on("data", (bytes: Buffer) => {
    received += bytes.toString("latin1");
  });
  socket.on("end", () => (ending ??= "ended")).on("error", () => (ending ??= "reset"));
  await new Promise<void>((resolve, reject) => {
    // A reset may arrive before the "connect" event.
    const failed = (error: NodeJS.ErrnoException) => (error.code === "ECONNRESET" ? resolve() : reject(error));
    socket.once("connect", resolve).once("error", failed);
  });
  return {
    socket,
    get received() {
      return received;
    },
    send: (text) => void socket.write(text),
    async until(text) {
      await eventually(() => received.includes(text));
      return received;
    },
    async over() {
      await eventually(() => ending !== undefined);
      return ending ?? "reset";
    },
    [Symbol.dispose]: () => socket.destroy(),
  };
}

export interface TcpWorld extends ActivatorWorld {
  /** Opens a port of the activator for the TCP port of a sandbox, and waits until it accepts. */
  front(name: string, changed?: Partial<EndpointSlice>): Promise<number>;
  /** Whether the activator confirms that it accepts on that port for that sandbox. */
  confirms(activatorPort: number, sandboxUid: string): Promise<boolean>;
  /** Whether the metrics have this line. */
  hasMetric(line: string): Promise<boolean>;
}

/** An activator with a drain listener, which opens ports on a loopback address. */
export async function openTcpWorld(
  flags: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<TcpWorld> {
  const front = ["--drain-bind-address=127.0.0.1:0", "--tcp-front-bind-address=127.0.0.1"];
  const world = await openActivatorWorld([...front, ...flags], env);
  const { activator, api, registry } = world;
  const confirms = async (activatorPort: number, sandboxUid: string) => {
    const body = JSON.stringify({ ports: [{ sandboxUid, activatorPort }] });
    const url = `http://127.0.0.1:${activator.drainPort}${drainPaths.listening}`;
    const answer = await fetch(url, { method: "POST", body });
    return parseListeningPorts(await answer.json())?.ports.length === 1;
  };
  return {
    ...world,
    confirms,
    hasMetric: async (line) => (await registry.metrics()).split("\n").includes(line),
    async front(name, changed) {
      const activatorPort = await freeFrontPort();
      const { uid } = (await api.client.get(sandboxType, { namespace: "default", name })).metadata;
      await allocate(api.client, { name, uid }, { activatorPort, containerPort: tcpPort }, changed);
      await eventually(() => confirms(activatorPort, uid));
      return activatorPort;
    },
  };
}
