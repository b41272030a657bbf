import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { asTimePasses } from "../../test/support/as-time-passes.ts";
import { FakeClock, systemClock } from "../time/clock.ts";
import { askStatus } from "./ask-status.ts";

const never = new AbortController().signal;
const about = (port: number, path = "/") =>
  ({ host: "127.0.0.1", port, path, scheme: "HTTP", headers: { "X-Who": "rouse" } }) as const;
const ask = (port: number, path?: string) =>
  askStatus(about(port, path), { clock: systemClock, limitMs: 5_000, signal: never });

const interim = "HTTP/1.1 103 Early Hints\r\n\r\n";

/** Answers every request with these bytes, and records the request. */
async function startServer(bytes: string | undefined) {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket.on("error", () => {}).on("close", () => open.delete(socket)));
    socket.on("data", () => void (bytes !== undefined && socket.write(bytes)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    open,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

describe("asking for a status", () => {
  it.each([
    { bytes: "HTTP/1.1 204 No Content\r\n\r\n", status: 204, what: "an answer" },
    { bytes: "HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\n\r\n", status: 302, what: "a redirect" },
    { bytes: "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n", status: 200, what: "a body that never ends" },
    {
      bytes: "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
      status: undefined,
      what: "an unrequested upgrade",
    },
    { bytes: "SSH-2.0-OpenSSH_9.6\r\n", status: undefined, what: "another protocol" },
    {
      bytes: `${interim.repeat(5)}HTTP/1.1 204 No Content\r\n\r\n`,
      status: 204,
      what: "an answer after 5 interim ones",
    },
    { bytes: `${interim.repeat(6)}HTTP/1.1 204 No Content\r\n\r\n`, status: undefined, what: "6 interim answers" },
  ])("reads $what as $status, and closes", async ({ bytes, status }) => {
    await using server = await startServer(bytes);
    expect(await ask(server.port)).toBe(status);
    await expect.poll(() => server.open.size).toBe(0);
  });

  it("is undefined without a listener, or for an invalid path", async () => {
    expect(await ask(1)).toBeUndefined();
    expect(await ask(1, "/a b\r\n")).toBeUndefined();
  });

  it("waits no longer than its limit", async () => {
    await using server = await startServer(undefined);
    const clock = new FakeClock();
    let status: number | undefined = 0;
    const asked = askStatus(about(server.port), { clock, limitMs: 5_000, signal: never }).then((answered) => {
      status = answered;
    });
    await expect.poll(() => server.open.size).toBe(1);
    await clock.advance(4_999);
    expect(status).toBe(0);
    await asTimePasses(clock, () => expect(status).toBeUndefined());
    await asked;
    await expect.poll(() => server.open.size).toBe(0);
  });

  it("rejects with the reason of its signal", async () => {
    await using server = await startServer(undefined);
    const stop = new AbortController();
    const asked = askStatus(about(server.port), { clock: systemClock, limitMs: 5_000, signal: stop.signal });
    stop.abort(new Error("enough"));
    await expect(asked).rejects.toThrow("enough");
  });
});
