import { describe, expect, it } from "vitest";
import { observed } from "../../support/drain-questions.ts";
import { eventually } from "../../support/eventually.ts";
import { type EchoServer, startEchoServer } from "../../support/grpc/echo-service.ts";
import {
  connectOverHttp1,
  connectOverHttp2,
  grpcWebText,
  stringValues,
  type WebClient,
  type WebServer,
} from "../../support/grpc/web-clients.ts";
import { openHttp2Client } from "../../support/http2-client.ts";
import {
  type ActivatorWorld,
  heldRequests,
  httpProgram,
  openActivatorWorld,
  sandboxPort,
} from "../../support/labs/activator-world.ts";

const flags = ["--http2", "--drain-bind-address=127.0.0.1:0"];
const program = (podIp: string) => startEchoServer(sandboxPort, podIp, stringValues);
const host = "nova.default.sandbox.localhost";
const byHeaders = { "x-sandbox-id": "nova", "x-sandbox-port": String(sandboxPort) };

const clients: readonly (readonly [string, (server: WebServer) => WebClient])[] = [
  ["binary over HTTP/1.1", connectOverHttp1],
  ["binary over HTTP/2", connectOverHttp2],
  ["base64 over HTTP/1.1", grpcWebText],
];

const serverOf = ({ activator }: ActivatorWorld, named?: string): WebServer => ({
  port: activator.proxyPort,
  ...(named !== undefined && { host: named }),
});

const inFlight = async (world: ActivatorWorld) => (await observed(world, -1)).inFlight;

describe.each(clients)("a call of gRPC-Web, %s, to a suspended sandbox", (_, open) => {
  it("wakes it, and is answered as by one that is awake", async () => {
    await using world = await openActivatorWorld(flags);
    await world.asleep("nova", program);
    using client = open(serverOf(world));
    const options = { headers: byHeaders };
    for (let count = 0; count < 2; count += 1) {
      const { messages, code, end } = await client.call("ServerStream", "n", options);
      expect([messages, code, end["x-end"]]).toEqual([["n0", "n1", "n2", "n3", "n4"], 0, "done"]);
    }
    expect(world.kubelet.made("nova")).toBe(1);
  });

  it("may name it by a path, which its sandbox does not see", async () => {
    const paths = ["--path-routing-prefix=/s"];
    await using world = await openActivatorWorld([...flags, ...paths], { ROUTER_AUTH_TOKEN: "good" });
    let server: EchoServer | undefined;
    await world.asleep("nova", async (podIp) => {
      server = await program(podIp);
      return server;
    });
    using client = open({ ...serverOf(world), path: `/s/default/nova/${sandboxPort}` });
    const { messages, code } = await client.call("Unary", "one", {
      headers: { authorization: "Bearer good", "x-a": "b" },
    });
    expect([messages, code]).toEqual([["one"], 0]);
    const seen = server?.seen.metadata ?? [];
    expect(seen.map((each) => [each.get("x-a"), each.get("authorization"), each.get("x-forwarded-prefix")])).toEqual([
      [["b"], [], [`/s/default/nova/${sandboxPort}`]],
    ]);
  });

  it("ends with a status of gRPC if it may not wake it, or does not name a port", async () => {
    await using world = await openActivatorWorld(flags, { ROUTER_AUTH_TOKEN: "good" });
    await world.asleep("nova", program);
    using client = open(serverOf(world));
    const refused = await client.call("Unary", "one", { headers: byHeaders });
    expect([refused.code, refused.details]).toEqual([16, "Missing or invalid Authorization header."]);
    const authorization = "Bearer good";
    const unnamed = await client.call("Unary", "one", { headers: { "x-sandbox-id": "nova", authorization } });
    expect([unnamed.code, unnamed.details]).toEqual([3, "Invalid port format."]);
    expect(world.kubelet.made("nova")).toBe(0);
    expect((await client.call("Unary", "one", { headers: { ...byHeaders, authorization } })).code).toBe(0);
  });
});

describe.each(clients.slice(0, 2))("a held call of gRPC-Web, %s,", (_, open) => {
  it("ends with DEADLINE_EXCEEDED once the time of its client is over", async () => {
    await using world = await openActivatorWorld(flags);
    await world.asleep("nova"); // nothing ever listens
    using client = open(serverOf(world, host));
    expect((await client.call("Unary", "one", { timeoutMs: 600 })).code).toBe(4);
  });

  it("frees its slot if its client leaves", async () => {
    await using world = await openActivatorWorld(flags);
    await world.asleep("nova"); // nothing ever listens
    using client = open(serverOf(world, host));
    const leaving = new AbortController();
    const call = client.call("Unary", "one", { signal: leaving.signal });
    await eventually(async () => (await heldRequests(world)) === 1);
    leaving.abort();
    expect((await call).code).toBe(1);
    await eventually(async () => (await heldRequests(world)) === 0);
  });

  it("is in flight at its sandbox until its client leaves", async () => {
    await using world = await openActivatorWorld(flags);
    await world.awake("nova", program);
    using client = open(serverOf(world, host));
    const leaving = new AbortController();
    const call = client.call("ServerStream", "stay", { signal: leaving.signal });
    await eventually(async () => (await inFlight(world)) === 1);
    leaving.abort();
    expect((await call).code).toBe(1);
    await eventually(async () => (await inFlight(world)) === 0);
  });
});

/** What a browser asks before a page of that origin may call the sandbox, and what it hears. */
async function preflight({ activator }: ActivatorWorld, origin: string) {
  const response = await fetch(`${activator.proxyUrl}/test.Echo/Unary`, {
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "x-grpc-web" },
  });
  await response.text();
  return { status: response.status, origin: response.headers.get("access-control-allow-origin") };
}

describe("a web page of another origin", () => {
  const listed = "https://app.example.com";

  it("learns without credentials whether it may call, and no sandbox is woken or looked up for that", async () => {
    const origins = `--grpc-web-origins=${listed}`;
    await using world = await openActivatorWorld([...flags, origins], { ROUTER_AUTH_TOKEN: "good" });
    await world.asleep("nova", program);
    expect(await preflight(world, listed)).toEqual({ status: 200, origin: listed });
    expect(await preflight(world, "https://evil.example")).toEqual({ status: 403, origin: null });
    expect(world.kubelet.made("nova")).toBe(0);
  });

  it("reaches no sandbox by other requests than calls, over HTTP/1.1 and HTTP/2", async () => {
    await using world = await openActivatorWorld([...flags, `--grpc-web-origins=${listed}`]);
    await world.asleep("nova", program);
    const headers = { ...byHeaders, "content-type": "application/json", "x-grpc-web": "1", origin: listed };
    const overHttp1 = await fetch(world.activator.proxyUrl, { method: "POST", headers, body: "{}" });
    using client = openHttp2Client(world.activator.proxyPort);
    const overHttp2 = await client.ask({ ":method": "POST", ...headers }, "{}");
    const native = await client.ask({ ":method": "POST", ...headers, "content-type": "application/grpc" }, "");
    expect([overHttp1.status, overHttp2.status]).toEqual([403, 403]);
    expect(await overHttp1.text()).toBe(overHttp2.body);
    expect(native.trailers[native.trailers.indexOf("grpc-status") + 1]).toBe("7");
    expect(world.kubelet.made("nova")).toBe(0);
  });

  it("may read responses and errors if it may call", async () => {
    await using world = await openActivatorWorld([...flags, `--grpc-web-origins=${listed}`]);
    await world.awake("nova", program);
    using client = connectOverHttp1(serverOf(world));
    for (const origin of [listed, "https://evil.example"]) {
      const { head } = await client.call("ServerStream", "n", { headers: { ...byHeaders, origin } });
      const failed = await client.call("Unary", "n", { headers: { "x-sandbox-id": "nova", origin } });
      const permitted = origin === listed ? origin : undefined;
      expect(head["access-control-allow-origin"]).toBe(permitted);
      expect([failed.code, failed.end["access-control-allow-origin"]]).toEqual([3, permitted]);
    }
  });
});

it("a call of gRPC-Web, and its preflight, is a request like any other without HTTP/2", async () => {
  await using world = await openActivatorWorld(["--http2=false"]);
  const seen: string[] = [];
  const answering = httpProgram((request, response) => {
    seen.push(`${request.method} ${request.headers["content-type"]}`);
    response.end();
  });
  await world.awake("nova", answering);
  const headers = { "x-sandbox-id": "nova", "content-type": "application/grpc-web-text" };
  await fetch(world.activator.proxyUrl, { method: "POST", headers, body: "AAAAAAA=" });
  const asking = { "access-control-request-method": "POST", "access-control-request-headers": "x-grpc-web" };
  await fetch(world.activator.proxyUrl, { method: "OPTIONS", headers: { ...headers, ...asking } });
  expect(seen).toEqual(["POST application/grpc-web-text", "OPTIONS application/grpc-web-text"]);
});
