import { once } from "node:events";
import { createServer } from "node:http2";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openHttp2Client } from "../../support/http2-client.ts";
import {
  type ActivatorWorld,
  httpProgram,
  openActivatorWorld,
  rawConnection,
  sandboxPort,
} from "../../support/labs/activator-world.ts";

const secret = "TOKEN-OF-A-LINK";
const flags = ["--http2", "--path-routing-prefix=/s", "--authz-cookie-name=door", "--authz-cookie-query-param=token"];

/** The requests that the sandboxes have seen, targets and headers. */
const seen: string[] = [];
const note = ({ url, headers }: { readonly url?: string | undefined; readonly headers: object }) =>
  void seen.push(JSON.stringify([url, headers]));

const http1Program = httpProgram(
  (request, response) => {
    note(request);
    response.end();
  },
  (server) =>
    server.on("upgrade", (request, socket) => {
      note(request);
      socket.end("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n");
    }),
);

/** It speaks HTTP/2 in clear text, as programs of gRPC do. */
async function grpcProgram(podIp: string): Promise<AsyncDisposable> {
  const server = createServer((request, response) => {
    note(request);
    response.writeHead(200, { "content-type": "application/grpc", "grpc-status": "0" }).end();
  });
  server.listen(sandboxPort, podIp);
  await once(server, "listening");
  return { [Symbol.asyncDispose]: async () => void server.close() };
}

let world: ActivatorWorld;
beforeAll(async () => {
  world = await openActivatorWorld(flags, { ROUTER_AUTH_TOKEN: "good" });
  await world.awake("web", http1Program);
  await world.awake("rpc", grpcProgram);
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(() => void seen.splice(0));

type Fields = Readonly<Record<string, string>>;

/** What a browser may add, and what gateways add. The page itself is let in by a token of its own. */
const added: Fields = {
  authorization: "Bearer good",
  cookie: `own=1; door=${secret}; b=2`,
  referer: `http://door.example/s/default/other/8888/?token=${secret}`,
  "x-original-url": `/s/default/other/8888/?token=${secret}`,
};

async function overHttp1(target: string, fields: Fields, method = "POST"): Promise<void> {
  using client = await rawConnection(world.activator);
  const lines = Object.entries({ host: "door.example", ...added, ...fields });
  const body = method === "POST" ? "Content-Length: 0\r\nConnection: close\r\n" : "";
  client.send(
    `${method} ${target} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}${body}\r\n`,
  );
  await client.until("\r\n\r\n");
}

async function overHttp2(target: string, fields: Fields): Promise<void> {
  using client = openHttp2Client(world.activator.proxyPort);
  await once(client.session, "remoteSettings");
  const own = { ":method": "POST", ":path": target, ":authority": "door.example", ":scheme": "http" };
  const stream = client.open({ ...own, ...added, ...fields });
  if (fields[":protocol"] === undefined) stream.end();
  await once(stream, "response");
}

interface Way {
  readonly protocol: string;
  readonly sandbox: "web" | "rpc";
  readonly ask: (target: string, fields: Fields) => Promise<void>;
  /** Calls of gRPC cannot set a prefix: their paths name no sandbox, whatever they are. */
  readonly isNative?: true;
}

const socketKey = "dGhlIHNhbXBsZSBub25jZQ==";
const upgrade = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13" };
const overHttp1Socket: Way["ask"] = (target, fields) =>
  overHttp1(target, { ...upgrade, "sec-websocket-key": socketKey, ...fields }, "GET");
const tunnel = { ":method": "CONNECT", ":protocol": "websocket", "sec-websocket-version": "13" };
const typed =
  (ask: Way["ask"], type: string): Way["ask"] =>
  (target, fields) =>
    ask(target, { "content-type": type, ...fields });

const ways: readonly Way[] = [
  { protocol: "HTTP/1.1", sandbox: "web", ask: typed(overHttp1, "application/json") },
  { protocol: "HTTP/2", sandbox: "web", ask: typed(overHttp2, "application/json") },
  { protocol: "a WebSocket", sandbox: "web", ask: overHttp1Socket },
  { protocol: "a WebSocket over HTTP/2", sandbox: "web", ask: (to, fields) => overHttp2(to, { ...tunnel, ...fields }) },
  { protocol: "HTTP/1.1 of the type of gRPC", sandbox: "web", ask: typed(overHttp1, "application/grpc") },
  { protocol: "gRPC", sandbox: "rpc", ask: typed(overHttp2, "application/grpc"), isNative: true },
  { protocol: "gRPC-Web over HTTP/1.1", sandbox: "rpc", ask: typed(overHttp1, "application/grpc-web") },
  { protocol: "gRPC-Web over HTTP/2", sandbox: "rpc", ask: typed(overHttp2, "application/grpc-web") },
];

describe.each(ways)("below the path of a sandbox, over $protocol,", ({ sandbox, ask, isNative }) => {
  const byHeaders = { "x-sandbox-id": sandbox, "x-sandbox-namespace": "default", "x-sandbox-port": `${sandboxPort}` };

  it.each<[string, string, Fields, boolean]>([
    ["its own path alone", `default/${sandbox}/8888/a`, {}, isNative !== true],
    ["its own path, and headers", `default/${sandbox}/8888/a`, byHeaders, true],
    ["headers, and the path of another", "default/other/8888/a", byHeaders, isNative === true],
    ["headers, and the path of a link", "-/default/other/8888/a", byHeaders, isNative === true],
    ["headers, and no name", "", byHeaders, isNative === true],
  ])("no sandbox sees the credentials of a link: by %s", async (_, path, fields, isServed) => {
    await ask(`/s/${path}?token=${secret}&a=1`, fields);
    expect(seen.filter((each) => each.includes(secret))).toEqual([]);
    expect(seen.filter((each) => each.includes("own=1; b=2") && each.includes("?a=1"))).toHaveLength(isServed ? 1 : 0);
  });
});
