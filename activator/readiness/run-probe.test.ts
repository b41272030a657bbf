import { once } from "node:events";
import { type AddressInfo, createServer, Socket } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { type Clock, FakeClock, systemClock } from "../../lib/time/clock.ts";
import { asTimePasses } from "../../test/support/as-time-passes.ts";
import { passes } from "./run-probe.ts";

const ip = "127.0.0.1";
const never = new AbortController().signal;
const limitsOf = (clock: Clock, signal = never) => ({ clock, dialLimitMs: 250, signal });

/** Answers each request with these bytes, or with nothing. */
async function startServer(bytes: string | undefined) {
  const open = new Set<Socket>();
  const received: string[] = [];
  const server = createServer((socket) => {
    open.add(socket.on("error", () => {}).on("close", () => open.delete(socket)));
    socket.on("data", (data) => {
      received.push(String(data));
      if (bytes !== undefined) socket.write(bytes);
    });
  });
  await once(server.listen(0, ip), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    open,
    received,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

describe("a readiness probe that the activator runs", () => {
  it.each([
    { status: "200 OK", passed: true },
    { status: "399 Almost", passed: true },
    { status: "400 Bad Request", passed: false },
    { status: "503 Service Unavailable", passed: false },
    { status: "101 Switching Protocols", passed: false },
  ])("with status $status passes: $passed, and its connection is closed", async ({ status, passed }) => {
    const upgrade = "connection: upgrade\r\nupgrade: x";
    await using server = await startServer(`HTTP/1.1 ${status}\r\n${upgrade}\r\ncontent-length: 0\r\n\r\n`);
    const probe = { port: server.port, httpGet: { path: "/" }, timeoutMs: 5_000 };
    expect(await passes(ip, probe, limitsOf(systemClock))).toBe(passed);
    await expect.poll(() => server.open.size).toBe(0);
  });

  it("requests its own path with its own headers", async () => {
    await using server = await startServer("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    const httpGet = { path: "/ready?now", httpHeaders: [{ name: "X-Asks", value: "probe" }] };
    await passes(ip, { port: server.port, httpGet, timeoutMs: 5_000 }, limitsOf(systemClock));
    expect(server.received.join("")).toMatch(/^GET \/ready\?now HTTP\/1\.1\r\n[\s\S]*X-Asks: probe\r\n/i);
  });

  it("without an HTTP request passes if and only if the port accepts", async () => {
    const server = await startServer(undefined);
    const probe = { port: server.port, timeoutMs: 5_000 };
    expect(await passes(ip, probe, limitsOf(systemClock))).toBe(true);
    await expect.poll(() => server.open.size).toBe(0);
    await server[Symbol.asyncDispose]();
    expect(await passes(ip, probe, limitsOf(systemClock))).toBe(false);
  });

  it("fails after 10 s without an answer, even with a longer timeout", async () => {
    await using server = await startServer(undefined);
    const clock = new FakeClock();
    let passed: boolean | undefined;
    const probe = { port: server.port, httpGet: {}, timeoutMs: 3_600_000 };
    const probed = passes(ip, probe, limitsOf(clock)).then((verdict) => {
      passed = verdict;
    });
    await expect.poll(() => server.open.size).toBe(1);
    await asTimePasses(clock, () => expect(passed).toBe(false));
    expect(clock.ticksMs()).toBeLessThan(11_000);
    await probed;
    await expect.poll(() => server.open.size).toBe(0);
  });

  it("without an HTTP request fails after the limit of a dial, even with a longer timeout", async () => {
    const clock = new FakeClock();
    const connecting = vi.spyOn(Socket.prototype, "connect").mockReturnThis(); // as to an address that does not answer
    try {
      const probed = passes(ip, { port: 80, timeoutMs: 5_000 }, limitsOf(clock));
      await clock.advance(250);
      expect(await Promise.race([probed, "goes on"])).toBe(false);
      expect(connecting).toHaveBeenCalledOnce();
    } finally {
      connecting.mockRestore();
    }
  });

  it("ends when its signal is aborted, and closes its connection", async () => {
    await using server = await startServer(undefined);
    const stop = new AbortController();
    const probe = { port: server.port, httpGet: {}, timeoutMs: 5_000 };
    const probed = passes(ip, probe, limitsOf(systemClock, stop.signal));
    await expect.poll(() => server.open.size).toBe(1);
    stop.abort(new Error("no request waits"));
    await expect(probed).rejects.toThrow("no request waits");
    await expect.poll(() => server.open.size).toBe(0);
  });
});
