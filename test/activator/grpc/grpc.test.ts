import { createServer as createHttpServer } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server, type Http2Session } from "node:http2";
import { connect, createServer, type Socket } from "node:net";
import { Metadata } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { observed, promised } from "../../support/drain-questions.ts";
import { eventually } from "../../support/eventually.ts";
import { EchoClient, outcomeOf, startEchoServer } from "../../support/grpc/echo-service.ts";
import {
  type ActivatorWorld,
  heldRequests,
  openActivatorWorld,
  sandboxPort,
} from "../../support/labs/activator-world.ts";

const open = () => openActivatorWorld(["--http2", "--drain-bind-address=127.0.0.1:0"]);
const program = (podIp: string) => startEchoServer(sandboxPort, podIp);

/** Serves calls of gRPC and requests of HTTP/1.1 on one port, as programs in Go do. */
async function bothProtocols(podIp: string): Promise<AsyncDisposable> {
  await using opened = new AsyncDisposableStack();
  const calls = opened.use(await startEchoServer(0));
  const plain = createHttpServer((_, response) => response.end("HTTP/1.1"));
  const server = createServer((socket) => {
    socket
      .on("error", () => {})
      .once("data", (first: Buffer) => {
        socket.pause().unshift(first);
        if (!first.subarray(0, 3).equals(Buffer.from("PRI"))) {
          plain.emit("connection", socket);
          return void socket.resume();
        }
        const behind = connect({ port: calls.port, host: "127.0.0.1" }).on("error", () => socket.destroy());
        socket.on("close", () => behind.destroy());
        socket.pipe(behind).pipe(socket);
      });
  });
  await new Promise<void>((resolve) => server.listen(sandboxPort, podIp, resolve));
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket));
  opened.defer(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
  const closing = opened.move();
  return { [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

/** A program of gRPC that answers each call with one message and OK, although its client may send more. */
async function answersAtFirstByte(podIp: string, message: Buffer, answered: () => void): Promise<AsyncDisposable> {
  const sessions = new Set<Http2Session>();
  const server = createHttp2Server().on("session", (session) => sessions.add(session.on("error", () => {})));
  server.on("stream", (stream) => {
    stream
      .on("error", () => {})
      .once("data", () => {
        // Later than the call takes to become an open connection.
        setTimeout(() => {
          stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
          stream.once("wantTrailers", () => {
            stream.sendTrailers({ "grpc-status": "0" });
            answered();
          });
          stream.end(message);
        }, 300);
      });
  });
  await new Promise<void>((resolve) => server.listen(sandboxPort, podIp, resolve));
  return {
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

const host = "nova.default.sandbox.localhost";
const clientOf = ({ activator }: ActivatorWorld, authority = host) =>
  new EchoClient(`127.0.0.1:${activator.proxyPort}`, authority);

const headers = (values: Readonly<Record<string, string>>) => {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(values)) metadata.set(name, value);
  return { metadata };
};

/** A call about a past generation, which has no effect. */
const inFlight = async (world: ActivatorWorld) => (await observed(world, -1)).inFlight;

describe("a call of gRPC to a suspended sandbox", () => {
  it("wakes it, and is answered once, in any shape", async () => {
    await using world = await open();
    await world.asleep("nova", program);
    using client = clientOf(world);
    const calls = [
      client.call("Unary", ["one"]),
      client.call("ClientStream", ["a", "b"]),
      client.call("Both", ["x", "y"]),
      client.call("ServerStream", ["n"]),
    ];
    const outcomes = await Promise.all(calls);
    const heard = outcomes.map(({ messages, code }) => `${code} ${messages.join()}`);
    expect(heard).toEqual(["0 one", "0 ab", "0 x,y", "0 n0,n1,n2,n3,n4"]);
    expect(world.kubelet.made("nova")).toBe(1);
  });

  it("is held with requests of HTTP/1.1, and each gets a connection of its own protocol", async () => {
    await using world = await open();
    const { promise: allHeld, resolve: start } = Promise.withResolvers<void>();
    await world.asleep("nova", async (podIp) => {
      await allHeld;
      return bothProtocols(podIp);
    });
    using client = clientOf(world);
    const calls = Array.from({ length: 90 }, (_, at) => client.call("Unary", [`n${at}`]));
    await eventually(async () => (await heldRequests(world)) === 90);
    const get = () => fetch(`${world.activator.proxyUrl}/`, { headers: { "x-sandbox-id": "nova" } });
    const gets = Array.from({ length: 30 }, async () => (await get()).text());
    await eventually(async () => (await heldRequests(world)) === 120);
    start();
    expect(new Set((await Promise.all(calls)).map(({ code }) => code))).toEqual(new Set([0]));
    expect(new Set(await Promise.all(gets))).toEqual(new Set(["HTTP/1.1"]));
  });

  it("may name it by headers, and then must name a port", async () => {
    await using world = await open();
    await world.asleep("nova", program);
    using client = clientOf(world, "router.test");
    const unnamed = await client.call("Unary", ["one"], headers({ "x-sandbox-id": "nova" }));
    expect([unnamed.code, unnamed.details]).toEqual([3, "Invalid port format."]);
    expect(world.kubelet.made("nova")).toBe(0);
    const named = { "x-sandbox-id": "nova", "x-sandbox-port": String(sandboxPort) };
    expect((await client.call("Unary", ["one"], headers(named))).code).toBe(0);
  });

  it("ends with DEADLINE_EXCEEDED once the time of its client is over", async () => {
    await using world = await open();
    await world.asleep("nova"); // nothing ever listens
    using client = clientOf(world);
    const { code } = await client.call("Unary", ["one"], { deadlineMs: 600 });
    expect(code).toBe(4);
  });

  it("ends with a status of gRPC if there is no such sandbox, or its timeout is malformed", async () => {
    await using world = await open();
    await world.asleep("nova", program);
    using stranger = clientOf(world, "a.b.c.sandbox.localhost");
    expect((await stranger.call("Unary", ["one"])).code).toBe(5);
    using client = clientOf(world);
    const malformed = await client.call("Unary", ["one"], headers({ "grpc-timeout": "soon" }));
    expect([malformed.code, malformed.details]).toEqual([3, "Malformed request: grpc-timeout invalid"]);
    expect(world.kubelet.made("nova")).toBe(0);
  });
});

describe("the use of a sandbox by a call of gRPC", () => {
  it("is in flight from the end of the request to that of the response", async () => {
    await using world = await open();
    await world.awake("nova", program);
    using client = clientOf(world);
    const call = client.call("Unary", ["wait"], { deadlineMs: 60_000 });
    await eventually(async () => (await inFlight(world)) === 1);
    expect(await promised(world)).toEqual({ inFlight: 1 });
    void call;
  });

  it("is that of an open connection while the client may send more: an answered one keeps nothing awake", async () => {
    await using world = await open();
    await world.awake("nova", program);
    using client = clientOf(world);
    const call = client.open("Both");
    const heard: string[] = [];
    call.on("data", (bytes: Buffer) => heard.push(bytes.toString()));
    const outcome = outcomeOf(call);
    call.write(Buffer.from("hello"));
    await eventually(() => heard.join() === "hello");
    await eventually(async () => (await inFlight(world)) === 0);
    expect(await promised(world)).toEqual({ inFlight: 0 });
    const { code, details } = await outcome;
    expect([code, details]).toEqual([14, "Sandbox is being suspended, and this call was idle: nova"]);
  });

  it("is work in flight after a message that came at once, until the sandbox answers", async () => {
    await using world = await open();
    await world.awake("nova", program);
    using client = clientOf(world);
    const call = client.open("ClientStream"); // answered at its end only
    void outcomeOf(call);
    call.write(Buffer.from("question"));
    await eventually(async () => (await inFlight(world)) === 1);
    await new Promise((resolve) => setTimeout(resolve, 400)); // longer than the call takes to become an open connection
    expect(await inFlight(world)).toBe(1);
    expect(await promised(world)).toEqual({ inFlight: 1 });
    call.cancel();
  });

  it("is a request in flight again once its client has sent all", async () => {
    await using world = await open();
    await world.awake("nova", program);
    using client = clientOf(world);
    const call = client.open("ServerStream");
    void outcomeOf(call);
    await eventually(async () => (await inFlight(world)) === 0);
    call.write(Buffer.from("stay"));
    call.end();
    await eventually(async () => (await inFlight(world)) === 1);
    call.cancel();
    await eventually(async () => (await inFlight(world)) === 0);
  });

  it("gives its client all of an answer that its sandbox has ended, also after the promise", async () => {
    const message = Buffer.alloc(100_005);
    message.writeUInt32BE(100_000, 1);
    let isAnswered = false;
    await using world = await open();
    await world.awake("nova", (podIp) =>
      answersAtFirstByte(podIp, message, () => {
        isAnswered = true;
      }),
    );
    const session = connectHttp2(`http://127.0.0.1:${world.activator.proxyPort}`, {
      settings: { initialWindowSize: 1_000 },
    });
    const path = { ":method": "POST", ":path": "/echo.Echo/Both", ":authority": host };
    const call = session.request({ ...path, "content-type": "application/grpc", te: "trailers" }, { endStream: false });
    let status: unknown;
    call.once("trailers", (trailers) => {
      status = trailers["grpc-status"];
    });
    call.write(Buffer.from([0, 0, 0, 0, 0]));
    await eventually(() => isAnswered);
    await eventually(async () => (await inFlight(world)) === 0);
    expect(await promised(world)).toEqual({ inFlight: 0 });
    const parts: Buffer[] = [];
    call.on("data", (bytes: Buffer) => parts.push(bytes));
    await eventually(() => status !== undefined);
    expect([Buffer.concat(parts).length, status]).toEqual([message.length, "0"]);
    session.destroy();
  });

  it("is ignored by `ignoreRequests`", async () => {
    await using world = await open();
    const ignoreRequests = [{ pathPrefix: "/test.Echo/Unary" }];
    const autoSuspension = { inactivityTimeoutSeconds: 60, ignoreRequests };
    await world.asleep("nova", program, { autoSuspension });
    using client = clientOf(world);
    expect((await client.call("Unary", ["one"])).code).toBe(13);
    expect(world.kubelet.made("nova")).toBe(0);
  });
});
