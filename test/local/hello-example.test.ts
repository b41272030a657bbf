import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { nextLoopbackAddress } from "../support/sockets/loopback-address.ts";

const port = 8888;

/** The program of examples/hello. */
async function startHello() {
  const folder = await mkdtempDisposable(join(tmpdir(), "rouse-hello-"));
  const host = nextLoopbackAddress();
  const volume = join(folder.path, "data");
  const env = { ...process.env, POD_IP: host, PORT: String(port), ROUSE_VOLUME_DATA: volume };
  const child = spawn(process.execPath, ["examples/hello/server.mjs"], { env, stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data"); // it says that it listens
  const ask = async (...pieces: readonly (string | Buffer)[]) => {
    const socket = connect(port, host);
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => chunks.push(chunk));
    for (const piece of pieces) socket.write(piece);
    await once(socket, "close");
    return Buffer.concat(chunks);
  };
  return {
    ask,
    host,
    volume,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      await folder[Symbol.asyncDispose]();
    },
  };
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;

it.each(["//", "///", "http://", "/%", "*"])(
  "the example hello answers a request for %s, and the next one",
  async (path) => {
    await using hello = await startHello();
    expect((await hello.ask(get(path))).toString()).toMatch(/^HTTP\/1.1 40[04] /);
    expect((await hello.ask(get("/counter?x"))).toString()).toMatch(/^HTTP\/1.1 200 OK/);
  },
);

const upgradeOf = (path: string) =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n`;

it.each(["/x", "/ws"])("the example hello outlives a client that resets its upgrade of %s", async (path) => {
  await using hello = await startHello();
  const socket = connect({ port, host: hello.host, allowHalfOpen: true });
  socket.write(upgradeOf(path));
  await once(socket, "data");
  socket.resetAndDestroy();
  expect((await hello.ask(get("/counter"))).toString()).toMatch(/^HTTP\/1.1 200 OK/);
});

it("the example hello closes a connection that its client does not end", async () => {
  await using hello = await startHello();
  const socket = connect({ port, host: hello.host, allowHalfOpen: true });
  const failed = new Promise((resolve) => socket.on("error", resolve));
  socket.resume().write(upgradeOf("/x"));
  await once(socket, "end");
  // What comes for a connection that is closed on the other side, is answered with a reset.
  const sending = setInterval(() => socket.write("x"), 50);
  using _ = {
    [Symbol.dispose]: () => {
      clearInterval(sending);
      socket.destroy();
    },
  };
  expect(await failed).toMatchObject({ code: expect.stringMatching(/^(ECONNRESET|EPIPE)$/) });
});

it("the example hello answers although it cannot write to its volume", async () => {
  await using hello = await startHello();
  await writeFile(hello.volume, "a file, and no folder");
  const answer = (await hello.ask(get("/"))).toString();
  expect(answer).toMatch(/^HTTP\/1.1 500 /);
  expect(answer).toContain("ENOTDIR");
  expect((await hello.ask(get("/counter"))).toString()).toContain('{"count":0}');
});

it("the example hello closes a WebSocket whose frame is too long to keep", async () => {
  await using hello = await startHello();
  const head = Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0x40, 0, 0, 0, 1, 2, 3, 4]); // 1 GiB follows
  const answer = await hello.ask(upgradeOf("/ws"), head);
  expect(answer.subarray(-4)).toEqual(Buffer.from([0x88, 2, 1009 >> 8, 1009 & 0xff]));
});
