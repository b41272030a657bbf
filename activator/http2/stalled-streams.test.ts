import { describe, expect, it } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import { startHttp2Sandbox } from "../../test/support/grpc/http2-sandbox.ts";
import { messageFrame } from "../../test/support/grpc/web-frames.ts";
import { answerOf, type Http2Client, openHttp2Client } from "../../test/support/http2-client.ts";
import { dialled, openBackend, openProxyPath, type ProxyPath } from "../../test/support/proxy-path.ts";

const streams = 12;
const body = Buffer.alloc(60_000, "x");
/** Room for what waits on half of the streams. */
const waitingBytesMax = (streams * body.length) / 2;
const grpc = { ":method": "POST", "content-type": "application/grpc", te: "trailers" };
const webGrpc = { ":method": "POST", "content-type": "application/grpc-web" };
/** A client that takes no byte of a body. */
const noWindow = { settings: { initialWindowSize: 0 } };

const closedOf = (client: Http2Client, headers: Record<string, string>, sent?: Buffer) =>
  Array.from({ length: streams }, () => {
    const ends = { code: -1 };
    const stream = client.open(headers);
    if (sent) stream.write(sent);
    else stream.end();
    void answerOf(stream).then(({ code }) => (ends.code = code));
    return ends;
  });

const cut = (path: ProxyPath) => path.refusals.filter((each) => each === "STALLED").length;

/** Some streams are cut, until the others fit. */
async function untilTheyFit(path: ProxyPath): Promise<void> {
  await eventually(() => cut(path) > 0 && path.waiting.bytes > waitingBytesMax / 2);
  expect(path.waiting.bytes).toBeLessThanOrEqual(waitingBytesMax);
  expect(cut(path)).toBeLessThan(streams);
}

/** Answers each request at once with so many bytes more than it announces to have sent. */
const answering = (missing: number) =>
  openBackend((socket) => {
    socket.once("data", () => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length + missing}\r\n\r\n`);
      socket.write(body);
    });
  });

describe("of streams that wait for their clients, some are cut once too much waits,", () => {
  it.each([
    ["within responses", 1],
    ["behind responses", 0],
  ])("%s", async (_, missing) => {
    await using backend = await answering(missing);
    await using path = await openProxyPath(backend.port, { waitingBytesMax });
    {
      using client = openHttp2Client(path.port, noWindow);
      const ends = closedOf(client, {});
      await untilTheyFit(path);
      await eventually(() => ends.filter(({ code }) => code === 2).length === cut(path));
    }
    await path.empty();
  });

  it.each([
    ["gRPC", grpc],
    ["gRPC-Web", webGrpc],
  ])("within calls of %s", async (_, headers) => {
    await using sandbox = await startHttp2Sandbox((stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" });
      stream.write(messageFrame(body.toString()));
    });
    await using path = await openProxyPath(sandbox.port, { waitingBytesMax });
    {
      using client = openHttp2Client(path.port, noWindow);
      closedOf(client, headers);
      await untilTheyFit(path);
    }
    await path.empty();
  });
});

describe("of streams that wait for their sandbox, some are cut once too much waits,", () => {
  it("and their clients get an error", async () => {
    await using backend = await openBackend((socket) => socket.pause());
    await using path = await openProxyPath(backend.port, { waitingBytesMax: 300_000 });
    {
      using client = openHttp2Client(path.port, { maxSessionMemory: 1_000 });
      const upload = () => {
        const stream = client.open({ ":method": "POST" });
        stream.write(Buffer.alloc(20_000_000));
        return answerOf(stream);
      };
      const first = await Promise.race(Array.from({ length: 8 }, upload));
      expect([first.status, first.fields.includes("ResponseLost")]).toEqual([502, true]);
      expect(path.waiting.bytes).toBeLessThanOrEqual(300_000);
    }
    await path.empty();
  });

  it.each([
    ["gRPC", grpc],
    ["gRPC-Web", webGrpc],
  ])("within calls of %s", async (_, headers) => {
    await using sandbox = await startHttp2Sandbox(() => {}, undefined, noWindow.settings);
    await using path = await openProxyPath(sandbox.port, { waitingBytesMax });
    {
      using client = openHttp2Client(path.port);
      closedOf(client, headers, messageFrame(body.toString()));
      await untilTheyFit(path);
    }
    await path.empty();
  });

  it("within calls of gRPC-Web over HTTP/1.1", async () => {
    await using sandbox = await startHttp2Sandbox(() => {}, undefined, noWindow.settings);
    await using path = await openProxyPath(sandbox.port, { waitingBytesMax });
    const head = `POST / HTTP/1.1\r\nHost: nova\r\nContent-Type: application/grpc-web\r\nContent-Length: 200000\r\n\r\n`;
    const sockets = await Promise.all(Array.from({ length: streams }, () => dialled(path.port)));
    for (const socket of sockets)
      socket.resume().write(Buffer.concat([Buffer.from(head), messageFrame(body.toString())]));
    await untilTheyFit(path);
    for (const socket of sockets) socket.destroy();
    await path.empty();
  });
});

it("a client that takes a little from time to time gets all of it while there is room", async () => {
  await using backend = await answering(0);
  await using path = await openProxyPath(backend.port, { waitingBytesMax: 2 * waitingBytesMax });
  {
    using client = openHttp2Client(path.port, { settings: { initialWindowSize: 1 } });
    const stream = client.open().end();
    let taken = 0;
    stream.on("data", (bytes: Buffer) => (taken += bytes.length));
    const answered = answerOf(stream);
    await eventually(() => path.waiting.bytes > 0);
    client.session.settings({ initialWindowSize: 30_000 });
    await eventually(() => taken > 1);
    client.session.settings({ initialWindowSize: 65_535 });
    expect(await answered).toMatchObject({ status: 200, code: 0, body: body.toString() });
    expect(cut(path)).toBe(0);
  }
  await path.empty();
});
