import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, performServerHandshake } from "node:http2";
import { Duplex } from "node:stream";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { openHttp2Client } from "../../../test/support/http2-client.ts";
import { openProxyPath, openStrictBackend } from "../../../test/support/proxy-path.ts";
import { dropOrigin, hasPendingFrames, nativeHandle } from "./native-handles.ts";

const run = promisify(execFile);

describe("the native part of HTTP/2", () => {
  it.each([
    { name: "reset their connections", end: "reset" },
    { name: "are cut off", end: "cut" },
  ])(
    "is freed and does not end the process when clients with unfinished trailers $name",
    async ({ end }) => {
      const { stdout } = await run(process.execPath, ["--no-warnings", "test/programs/leaving-http2-clients.ts", end]);
      expect(stdout).toBe("1\n"); // the pattern that V8 copies
    },
    60_000,
  );

  it("is found in sessions and streams of this Node", async () => {
    const session = performServerHandshake(new Duplex({ read() {}, write: (_bytes, _encoding, done) => done() }));
    expect(nativeHandle(session)).toBeTypeOf("object");
    session.destroy();
    await using backend = await openStrictBackend("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    await using proxyPath = await openProxyPath(backend.port);
    using client = openHttp2Client(proxyPath.port);
    const stream = client.open();
    await once(stream, "ready");
    expect(nativeHandle(stream)).toBeTypeOf("object");
    expect(nativeHandle(client.session)).not.toBe(nativeHandle(stream));
  });

  it("tells what a session wants, and nothing of one that is closed or of another Node", async () => {
    const session = performServerHandshake(new Duplex({ read() {}, write: (_bytes, _encoding, done) => done() }));
    expect(hasPendingFrames(session)).toBe(true);
    session.destroy();
    await once(session, "close");
    expect(hasPendingFrames(session)).toBeUndefined();
    const other = performServerHandshake(new Duplex({ read() {}, write: (_bytes, _encoding, done) => done() }));
    Object.defineProperty(nativeHandle(other), "hasPendingData", { value: undefined });
    expect(hasPendingFrames(other)).toBeUndefined();
    other.destroy();
  });

  it("keeps no text of the client once it was told to drop it", async () => {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    using client = openHttp2Client(address !== null && typeof address === "object" ? address.port : 0);
    const arrived = once(server, "stream");
    client.open({ ":authority": "nova.test" });
    const [stream] = await arrived;
    const texts = () => Object.getOwnPropertySymbols(stream).map((symbol) => Reflect.get(stream, symbol));
    expect(texts()).toContain("nova.test");
    dropOrigin(stream);
    expect(texts().filter((value) => typeof value === "string")).toEqual([]);
    client.session.destroy();
    server.close();
  });
});
