import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { pino } from "pino";
import { expect, it } from "vitest";
import {
  type Endpoint,
  type EndpointSlice,
  endpointSliceType,
  serviceNameLabel,
} from "../../api/between-programs/tcp-front.ts";
import { podType, type Service, serviceType } from "../../api/kinds/core.ts";
import { loopbackClusterIps } from "../../apiserver/kinds/builtin/cluster-ips.ts";
import { servedKinds } from "../../apiserver/kinds/served-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { systemClock } from "../../lib/time/clock.ts";
import { type MemoryApi, openMemoryApi } from "../../test/support/memory-api.ts";
import { type ServiceProxyOptions, startServiceProxy } from "./start-service-proxy.ts";

const web = { namespace: "default", name: "web" } as const;
const servicePort = 5432;

interface ProxyWorld extends AsyncDisposable {
  readonly client: KubeClient;
  /** Creates the Service `web` and returns its address. */
  serve(): Promise<string>;
  /** Sets the endpoints of `web`. */
  list(endpoints: readonly Endpoint[], port: number): Promise<void>;
  /** Starts a server for the duration of the test; returns its port on 127.0.0.1. */
  program(answer: (socket: Socket) => void): Promise<number>;
}

async function openProxyWorld(options: Partial<ServiceProxyOptions> = {}): Promise<ProxyWorld> {
  await using opened = new AsyncDisposableStack();
  // Tests run concurrently on one machine, and Services with the same port need different addresses.
  const start = Math.floor(Math.random() * 2 ** 20);
  const api: MemoryApi = opened.use(
    await openMemoryApi({ kinds: servedKinds({ clusterIps: loopbackClusterIps(start) }) }),
  );
  const { client } = api;
  const proxy = opened.use(startServiceProxy({ client, clock: systemClock, log: silentLogger, ...options }));
  await proxy.synced;
  const slice = (endpoints: readonly Endpoint[], port: number): EndpointSlice => ({
    metadata: { namespace: "default", name: "web-1", labels: { [serviceNameLabel]: "web" } },
    addressType: "IPv4",
    endpoints,
    ports: [{ name: "sql", port }],
  });
  let listed = false;
  const closing = opened.move();
  return {
    client,
    async serve() {
      const spec: Service["spec"] = { ports: [{ name: "sql", port: servicePort }] };
      return (await client.create(serviceType, { metadata: web, spec })).spec?.clusterIP ?? "";
    },
    async list(endpoints, port) {
      const object = slice(endpoints, port);
      if (!listed) await client.create(endpointSliceType, object);
      else {
        const { ports } = object;
        const where = { namespace: "default", name: "web-1" };
        await client.patch(endpointSliceType, where, { type: "merge", body: { endpoints, ports } });
      }
      listed = true;
    },
    async program(answer) {
      const server: Server = createServer({ allowHalfOpen: true }, answer).listen(0, "127.0.0.1");
      closing.defer(() => void server.close());
      await once(server, "listening");
      return (server.address() as AddressInfo).port;
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

const here: Endpoint = { addresses: ["127.0.0.1"], conditions: { ready: true } };

function dial(host: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: servicePort, allowHalfOpen: true });
    socket.once("connect", () => resolve(socket)).once("error", reject);
  });
}

/** Sends a word and ends its side; returns the response, or the error's code. */
async function ask(host: string, word: string): Promise<string> {
  try {
    const socket = await dial(host);
    socket.end(word);
    return await text(socket);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

/** Answers only after the request has ended, as a half-closed connection allows. */
const answering = (name: string) => async (socket: Socket) => {
  socket.end(`${name}: ${await text(socket)}`);
};

it("proxies a connection to the address of a Service both ways, also half-closed", async () => {
  await using world = await openProxyWorld();
  const address = await world.serve();
  await world.list([here], await world.program(answering("a")));
  await expect.poll(() => ask(address, "hello")).toBe("a: hello");
});

it("refuses connections while nothing is ready, as long as that is so", async () => {
  await using world = await openProxyWorld();
  const port = await world.program(answering("a"));
  const address = await world.serve();
  await world.list([{ ...here, conditions: { ready: false } }], port);
  expect(await ask(address, "hello")).toBe("ECONNREFUSED");
  await world.list([here], port);
  await expect.poll(() => ask(address, "hello")).toBe("a: hello");
  await world.list([], port);
  await expect.poll(() => ask(address, "hello")).toBe("ECONNREFUSED");
});

it("leads new connections to where the slices have moved, and leaves those that are open", async () => {
  await using world = await openProxyWorld();
  const address = await world.serve();
  await world.list([here], await world.program(answering("a")));
  await expect.poll(() => ask(address, "hello")).toBe("a: hello");
  const early = await dial(address);
  await world.list([here], await world.program(answering("b")));
  await expect.poll(() => ask(address, "hello")).toBe("b: hello");
  early.end("still here");
  expect(await text(early)).toBe("a: still here");
});

it("stops listening when the Service is deleted, and keeps open connections", async () => {
  await using world = await openProxyWorld();
  const address = await world.serve();
  await world.list([here], await world.program(answering("a")));
  await expect.poll(() => ask(address, "hello")).toBe("a: hello");
  const open = await dial(address);
  await world.client.delete(serviceType, web);
  await expect.poll(() => ask(address, "hello")).toBe("ECONNREFUSED");
  open.end("still here");
  expect(await text(open)).toBe("a: still here");
});

it("resets a connection whose target is missing", async () => {
  await using world = await openProxyWorld();
  const port = await world.program(answering("a"));
  const address = await world.serve();
  await world.list([here], port);
  await expect.poll(() => ask(address, "hello")).toBe("a: hello");
  await world.list([here], 1);
  await expect.poll(() => ask(address, "hello")).toBe("ECONNRESET");
});

it("proxies at most the given number of connections", async () => {
  await using world = await openProxyWorld({ connectionsMax: 1 });
  const address = await world.serve();
  await world.list([here], await world.program(answering("a")));
  await expect.poll(() => ask(address, "hello")).toBe("a: hello");
  const first = await dial(address);
  first.write("one");
  await expect.poll(() => ask(address, "hello")).toBe("ECONNRESET");
  first.end(" more");
  expect(await text(first)).toBe("a: one more");
  await expect.poll(() => ask(address, "hello")).toBe("a: hello");
});

it("logs a port in use once, and listens on it once it is free", async () => {
  const lines: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
  await using world = await openProxyWorld({ log });
  const address = await world.serve();
  const taker = createServer().listen(servicePort, address);
  await once(taker, "listening");
  await world.list([here], await world.program(answering("a")));
  await expect
    .poll(() => lines.join())
    .toContain(`cannot listen on ${address}:${servicePort}: another program uses this port`);
  taker.close();
  await expect.poll(() => ask(address, "hello"), { timeout: 5_000 }).toBe("a: hello");
  expect(lines).toHaveLength(1);
});

it("leads a Service with a selector to the Pods that it selects, once they are ready", async () => {
  await using world = await openProxyWorld();
  const { client } = world;
  const port = await world.program(answering("a"));
  const pod = { namespace: "default", name: "nova" };
  const metadata = { ...pod, labels: { app: "nova" } };
  const containers = [{ name: "main", image: "none", ports: [{ name: "sql", containerPort: port }] }];
  await client.create(podType, { metadata, spec: { containers, nodeName: "elsewhere" } });
  const ports = [{ port: servicePort, targetPort: "sql" }];
  const made = await client.create(serviceType, { metadata: web, spec: { selector: { app: "nova" }, ports } });
  const address = made.spec?.clusterIP ?? "";
  const report = async (ready: "True" | "False") => {
    const status = { podIP: "127.0.0.1", phase: "Running", conditions: [{ type: "Ready", status: ready }] };
    await client.patch(podType, pod, { type: "merge", body: { status } }, { subresource: "status" });
  };
  await report("True");
  await expect.poll(() => ask(address, "hello")).toBe("a: hello");
  await report("False");
  await expect.poll(() => ask(address, "hello")).toBe("ECONNREFUSED");
});
