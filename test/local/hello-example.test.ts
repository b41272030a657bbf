import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { nextLoopbackAddress } from "../support/sockets/loopback-address.ts";

/** The program of examples/hello. */
async function startHello() {
  const folder = await mkdtempDisposable(join(tmpdir(), "rouse-hello-"));
  const host = nextLoopbackAddress();
  const env = { ...process.env, POD_IP: host, PORT: "8888", ROUSE_VOLUME_DATA: folder.path };
  const child = spawn(process.execPath, ["examples/hello/server.mjs"], { env, stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data"); // it says that it listens
  const ask = async (...pieces: readonly (string | Buffer)[]) => {
    const socket = connect(8888, host);
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => chunks.push(chunk));
    for (const piece of pieces) socket.write(piece);
    await once(socket, "close");
    return Buffer.concat(chunks);
  };
  return {
    ask,
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

it("the example hello closes a WebSocket whose frame is too long to keep", async () => {
  await using hello = await startHello();
  const upgrade =
    "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n";
  const head = Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0x40, 0, 0, 0, 1, 2, 3, 4]); // 1 GiB follows
  const answer = await hello.ask(upgrade, head);
  expect(answer.subarray(-4)).toEqual(Buffer.from([0x88, 2, 1009 >> 8, 1009 & 0xff]));
});
