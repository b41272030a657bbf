import { execFile } from "node:child_process";
import { constants, type ServerHttp2Stream } from "node:http2";
import { setImmediate as turn } from "node:timers/promises";
import { promisify } from "node:util";
import { Metadata } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import {
  EchoClient,
  type EchoServer,
  endingMetadata,
  outcomeOf,
  startEchoServer,
} from "../../../test/support/grpc/echo-service.ts";
import { startHttp2Sandbox } from "../../../test/support/grpc/http2-sandbox.ts";
import { answerOf, openHttp2Client, valuesOf } from "../../../test/support/http2-client.ts";
import { openBackend, openProxyPath, type ProxyPath, type ProxyPathOptions } from "../../../test/support/proxy-path.ts";

const run = promisify(execFile);

type Use = (parts: { client: EchoClient; server: EchoServer; path: ProxyPath }) => Promise<void>;

async function withEcho(use: Use, options: ProxyPathOptions = {}): Promise<void> {
  await using server = await startEchoServer();
  await using path = await openProxyPath(server.port, options);
  {
    using client = new EchoClient(`127.0.0.1:${path.port}`);
    await use({ client, server, path });
  }
  await path.empty();
}

const texts = (messages: readonly Buffer[]) => messages.map((each) => each.toString());
const endOf = (metadata: Metadata) => [metadata.get("x-end"), metadata.get("x-end-bin")];
const ending = endOf(endingMetadata());

describe("a call of gRPC", () => {
  it("passes in all four shapes, with its metadata and its last metadata", async () => {
    await withEcho(async ({ client, server }) => {
      const metadata = new Metadata();
      metadata.set("x-key", "value");
      metadata.add("x-raw-bin", Buffer.from([0, 1, 254]));
      const one = await client.call("Unary", ["hello"], { metadata });
      expect([texts(one.messages), one.code, endOf(one.end)]).toEqual([["hello"], 0, ending]);
      expect(one.begin?.get("x-begin")).toEqual(["here"]);
      expect(server.seen.metadata[0]?.get("x-key")).toEqual(["value"]);
      expect(server.seen.metadata[0]?.get("x-raw-bin")).toEqual([Buffer.from([0, 1, 254])]);
      const down = await client.call("ServerStream", ["n"]);
      expect([texts(down.messages), down.code]).toEqual([["n0", "n1", "n2", "n3", "n4"], 0]);
      const up = await client.call("ClientStream", ["a", "b", "c"]);
      expect([texts(up.messages), up.code, endOf(up.end)]).toEqual([["abc"], 0, ending]);
      const both = await client.call("Both", ["x", "y"]);
      expect([texts(both.messages), both.code]).toEqual([["x", "y"], 0]);
    });
  });

  it("ends with the status, the message and the details of its sandbox", async () => {
    await withEcho(async ({ client, path }) => {
      const { code, details, end } = await client.call("Unary", ["fail"]);
      expect([code, details, endOf(end)]).toEqual([9, "not so: 100 % é", ending]);
      await eventually(() => path.ends.length === 1);
      expect(path.ends[0]).toMatchObject({ status: 200, grpcStatus: "9" });
    });
  });

  it("carries messages of many windows both ways", async () => {
    await withEcho(async ({ client }) => {
      const big = "z".repeat(3_000_000);
      const { messages, code } = await client.call("Both", [big, "end"]);
      expect([code, messages[0]?.length, messages[1]?.toString()]).toEqual([0, big.length, "end"]);
      expect(messages[0]?.equals(Buffer.from(big))).toBe(true);
    });
  });

  it("shares a connection to the sandbox with a hundred others", async () => {
    await withEcho(async ({ client, path }) => {
      await client.call("Unary", ["first"]);
      const calls = Array.from({ length: 150 }, (_, at) => client.call("Unary", [`n${at}`]));
      const answers = await Promise.all(calls);
      expect(answers.map(({ messages, code }) => [texts(messages)[0], code])).toEqual(
        Array.from({ length: 150 }, (_, at) => [`n${at}`, 0]),
      );
      expect(path.sessions).toBeLessThanOrEqual(51);
    });
  });

  it("is reset at its sandbox if its client leaves, so that its request does not look complete", async () => {
    const seen: string[] = [];
    await using sandbox = await startHttp2Sandbox((stream) => {
      stream.on("data", () => seen.push("data"));
      stream.on("aborted", () => seen.push("aborted"));
      stream.on("close", () => seen.push(`code ${stream.rstCode}`));
    });
    await using path = await openProxyPath(sandbox.port);
    using client = new EchoClient(`127.0.0.1:${path.port}`);
    const call = client.open("ClientStream");
    const outcome = outcomeOf(call);
    call.write(Buffer.from("part"));
    await eventually(() => seen.join() === "data");
    call.cancel();
    expect((await outcome).code).toBe(1);
    await eventually(() => seen.join() === `data,aborted,code ${constants.NGHTTP2_CANCEL}`);
  });

  it("tells its sandbox how much of its time is left, and ends when that is over", async () => {
    await withEcho(async ({ client, server, path }) => {
      const { code } = await client.call("Unary", ["hello"], { deadlineMs: 30_000 });
      expect(code).toBe(0);
      const [leftMs = 0] = server.seen.deadlines;
      expect(leftMs).toBeLessThanOrEqual(30_000);
      expect(leftMs).toBeGreaterThan(20_000);
      const late = await client.call("Unary", ["wait"], { deadlineMs: 300 });
      expect(late.code).toBe(4); // of the client, the activator or the server: each has a clock
      await eventually(() => path.ends.length === 2);
    });
  });
});

/** The status of one call, to a sandbox that treats its stream like that. */
async function statusFrom(answer: (stream: ServerHttp2Stream) => void, use: (path: ProxyPath) => void = () => {}) {
  await using sandbox = await startHttp2Sandbox(answer);
  await using path = await openProxyPath(sandbox.port);
  using client = new EchoClient(`127.0.0.1:${path.port}`);
  const outcome = await client.call("Unary", ["hello"]);
  use(path);
  return outcome;
}

const head = { ":status": 200, "content-type": "application/grpc" };
/** A message of gRPC. */
const message = Buffer.from("\0\0\0\0\x02hi", "latin1");

describe("a call of gRPC that its sandbox does not end", () => {
  it("is never complete, wherever the sandbox breaks off", async () => {
    const breaks: readonly ((stream: ServerHttp2Stream) => void)[] = [
      (stream) => stream.session?.destroy(),
      (stream) => stream.close(constants.NGHTTP2_CANCEL),
      (stream) => {
        stream.respond(head);
        stream.session?.destroy();
      },
      (stream) => {
        stream.respond(head);
        stream.write(message, () => stream.session?.socket.destroy());
      },
      (stream) => {
        stream.respond(head);
        stream.write(message, () => stream.destroy(new Error("broken off")));
      },
      (stream) => {
        stream.respond(head);
        stream.end(message); // without trailers
      },
    ];
    for (const [at, answer] of breaks.entries()) expect([at, (await statusFrom(answer)).code]).not.toEqual([at, 0]);
  });

  it("has the status UNAVAILABLE if its connection is lost, before and after the response began", async () => {
    const early = await statusFrom(
      (stream) => stream.session?.destroy(),
      (path) => expect(path.refusals).toEqual(["ResponseLost"]),
    );
    expect([early.code, early.details]).toEqual([14, "Could not connect to the backend sandbox: nova"]);
    const late = await statusFrom((stream) => {
      stream.respond(head);
      stream.write(message, () => stream.session?.socket.destroy());
    });
    expect([late.code, texts(late.messages)]).toEqual([14, ["hi"]]);
  });

  it("has the status UNAVAILABLE if its sandbox speaks HTTP/1.1", async () => {
    await using backend = await openBackend((socket) => {
      socket.once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"));
    });
    await using path = await openProxyPath(backend.port);
    using client = new EchoClient(`127.0.0.1:${path.port}`);
    expect((await client.call("Unary", ["hello"])).code).toBe(14);
    await eventually(() => path.sessions === 0);
  });

  it("has the status UNAVAILABLE if its sandbox takes the connection and says nothing", async () => {
    const clock = new FakeClock();
    let heard = 0;
    await using backend = await openBackend((socket) => {
      socket.on("data", () => (heard += 1)).on("end", () => socket.end());
    });
    await using path = await openProxyPath(backend.port, { clock });
    using client = new EchoClient(`127.0.0.1:${path.port}`);
    const outcome = client.call("Unary", ["hello"]);
    await eventually(() => heard > 0);
    await clock.advance(10_000);
    expect((await outcome).code).toBe(14);
    expect(path.sessions).toBe(0);
  });

  it("may be sent again by its client if its sandbox refused the stream", async () => {
    await using sandbox = await startHttp2Sandbox((stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM));
    await using path = await openProxyPath(sandbox.port);
    using client = openHttp2Client(path.port);
    const asked = { ":method": "POST", "content-type": "application/grpc" };
    expect(await client.ask(asked, message)).toMatchObject({ status: 0, code: constants.NGHTTP2_REFUSED_STREAM });
  });

  it("goes over a new connection after its sandbox has said that it leaves", async () => {
    let connections = 0;
    await using sandbox = await startHttp2Sandbox(
      (stream) => {
        stream.respond({ ...head, "grpc-status": "0" }, { endStream: true });
        stream.session?.goaway();
      },
      () => (connections += 1),
    );
    await using path = await openProxyPath(sandbox.port);
    using client = openHttp2Client(path.port);
    const asked = { ":method": "POST", "content-type": "application/grpc" };
    for (let count = 1; count <= 3; count += 1) {
      const { fields, code } = await client.ask(asked, message);
      expect([valuesOf(fields, "grpc-status"), code]).toEqual([["0"], 0]);
      await eventually(() => path.sessions === 0);
      expect(connections).toBe(count);
    }
  });
});

it("ends, and does not end the process, whatever its sandbox sends instead of an answer", async () => {
  const { stdout } = await run(process.execPath, ["--no-warnings", "test/programs/hostile-grpc-sandboxes.ts", "5"]);
  expect(stdout).toBe("150 ended, 0 succeeded\n");
}, 60_000);

describe("what waits for a slow client of gRPC", () => {
  it("arrives although the sandbox has ended its stream long before", async () => {
    const closed: number[] = [];
    await using sandbox = await startHttp2Sandbox((stream) => {
      stream.respond(head, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.on("close", () => closed.push(stream.rstCode));
      stream.end(Buffer.alloc(120_000, 1)).resume(); // more than the stream to the client takes
    });
    await using path = await openProxyPath(sandbox.port);
    using client = openHttp2Client(path.port, { settings: { initialWindowSize: 1_000 } });
    const stream = client.open({ ":method": "POST", "content-type": "application/grpc" });
    stream.end(message);
    await eventually(() => closed.length === 1);
    for (let turns = 0; turns < 30; turns += 1) await turn(); // the activator sees it, too
    const { body, trailers, code } = await answerOf(stream);
    expect([closed, body.length, valuesOf(trailers, "grpc-status"), code]).toEqual([[0], 120_000, ["0"], 0]);
  });

  it("is bounded, and all of it arrives in the end", async () => {
    const size = 20_000_000;
    let written = 0;
    await using sandbox = await startHttp2Sandbox((stream) => {
      stream.respond(head, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      const writeOn = () => {
        if (written === size) return void stream.end();
        written += 10_000;
        stream.write(Buffer.alloc(10_000), writeOn);
      };
      writeOn();
    });
    await using path = await openProxyPath(sandbox.port);
    using client = openHttp2Client(path.port);
    const stream = client.open({ ":method": "POST", "content-type": "application/grpc" });
    stream.end(message);
    let trailers = {};
    stream.on("trailers", (fields) => {
      trailers = fields;
    });
    let before = -1;
    await eventually(() => {
      const stands = written === before;
      before = written;
      return stands && written > 0;
    });
    expect(written).toBeLessThan(1_000_000);
    let read = 0;
    stream.on("data", (bytes: Buffer) => (read += bytes.length));
    await eventually(() => stream.closed);
    expect([read, trailers]).toMatchObject([size, { "grpc-status": "0" }]);
  });
});
