import { describe, expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { startHttp2Sandbox } from "../../../test/support/grpc/http2-sandbox.ts";
import { messageFrame } from "../../../test/support/grpc/web-frames.ts";
import { openHttp2Client } from "../../../test/support/http2-client.ts";
import { dialled, openProxyPath } from "../../../test/support/proxy-path.ts";

const size = 20_000_000;
const forms = [
  ["binary", "application/grpc-web", false],
  ["base64", "application/grpc-web-text", true],
] as const;

/** Resolves once a number stays the same between two checks. */
async function standstill(value: () => number): Promise<void> {
  let before = -1;
  await eventually(() => {
    const stands = value() === before && before > 0;
    before = value();
    return stands;
  });
}

const head = (type: string, length: number) =>
  `POST / HTTP/1.1\r\nHost: nova\r\nConnection: close\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`;

describe.each(forms)("what waits in a call of gRPC-Web, %s,", (_, type, isText) => {
  const encoded = (bytes: Buffer) => (isText ? Buffer.from(bytes.toString("base64")) : bytes);

  it("is bounded if its client is slow, and all of it arrives in the end", async () => {
    let written = 0;
    await using sandbox = await startHttp2Sandbox((stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      const message = messageFrame("x".repeat(9_995));
      const writeOn = () => {
        if (written === size) return void stream.end();
        written += message.length;
        stream.write(message, writeOn);
      };
      writeOn();
    });
    await using path = await openProxyPath(sandbox.port);
    const asked = encoded(messageFrame("hi"));
    const socket = await dialled(path.port);
    socket.write(Buffer.concat([Buffer.from(head(type, asked.length)), asked]));
    await standstill(() => written);
    expect(written).toBeLessThan(size / 2);
    let [read, last] = [0, ""];
    socket.on("data", (bytes: Buffer) => {
      read += bytes.length;
      last = (last + bytes.toString("latin1")).slice(-200);
    });
    await eventually(() => socket.readableEnded, 30_000);
    expect(read).toBeGreaterThan(isText ? (size * 4) / 3 : size);
    expect(last.endsWith("\r\n0\r\n\r\n")).toBe(true);
    socket.destroy();
    await path.empty();
  });

  it("is bounded over HTTP/2, too", async () => {
    let written = 0;
    await using sandbox = await startHttp2Sandbox((stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" });
      const message = messageFrame("x".repeat(9_995));
      const writeOn = () => {
        written += message.length;
        if (written < size) stream.write(message, writeOn);
      };
      writeOn();
    });
    await using path = await openProxyPath(sandbox.port);
    using client = openHttp2Client(path.port);
    const stream = client.open({ ":method": "POST", "content-type": type });
    stream.end(encoded(messageFrame("hi")));
    await standstill(() => written);
    expect(written).toBeLessThan(1_000_000);
  });

  it("is bounded if its sandbox is slow, and all of it arrives in the end", async () => {
    let read = 0;
    let readOn = () => {};
    await using sandbox = await startHttp2Sandbox((stream) => {
      readOn = () => void stream.on("data", (bytes: Buffer) => (read += bytes.length));
      stream.on("end", () => {
        const said = { ":status": 200, "content-type": "application/grpc", "grpc-status": "0" };
        stream.respond(said, { endStream: true });
      });
    });
    await using path = await openProxyPath(sandbox.port);
    const body = encoded(messageFrame("x".repeat(size)));
    const socket = await dialled(path.port);
    socket.resume().write(Buffer.concat([Buffer.from(head(type, body.length)), body]));
    await standstill(() => path.sockets?.client.bytesRead ?? 0);
    expect(path.sockets?.client.bytesRead).toBeLessThan(1_000_000);
    readOn();
    await eventually(() => path.ends.length === 1, 30_000);
    expect([read, path.ends[0]?.grpcStatus]).toEqual([size + 5, "0"]);
    socket.destroy();
    await path.empty();
  });
});
