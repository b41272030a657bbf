import { execFile } from "node:child_process";
import { getEventListeners, once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { onUnexpectedError } from "../../lib/guard/guard.ts";
import { FakeClock, systemClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { aSandbox, httpProgram, openActivatorWorld, rawConnection } from "../../test/support/labs/activator-world.ts";
import { Dial, DialError, dial } from "./dial.ts";

const noPort = { ip: "127.0.0.1", port: 70_000 };

describe("a dial", () => {
  it("that succeeded has no limit any more", async () => {
    await using server = createServer();
    await once(server.listen(0, "127.0.0.1"), "listening");
    const clock = new FakeClock();
    const { port } = server.address() as AddressInfo;
    const socket = await dial({ ip: "127.0.0.1", port }, 1_000, clock, new AbortController().signal);
    await clock.advance(1_000);
    expect(socket.destroyed).toBe(false);
    socket.destroy();
  });

  it("leaves nothing at the signal once it is over: thousands may fail in one wait", async () => {
    await using server = createServer();
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const { signal } = new AbortController();
    const socket = await dial({ ip: "127.0.0.1", port }, 1_000, systemClock, signal);
    expect(getEventListeners(signal, "abort")).toEqual([]);
    socket.destroy();
    await expect(dial(noPort, 1_000, systemClock, signal)).rejects.toThrow(DialError);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("is not begun after it was cancelled", async () => {
    const cancelled = AbortSignal.abort(new Error("left"));
    await expect(dial(noPort, 1_000, systemClock, cancelled)).rejects.toThrow("left");
  });
});

describe("dials of a process that may open 150 files", () => {
  it("fail before the last file descriptor is in use", async () => {
    const script = `
      const { createServer } = await import("node:net");
      const { closeSync, openSync } = await import("node:fs");
      const { dial } = await import(${JSON.stringify(join(import.meta.dirname, "dial.ts"))});
      const { systemClock } = await import(${JSON.stringify(join(import.meta.dirname, "../../lib/time/clock.ts"))});
      const port = Number(process.argv[1]);
      const dials = [];
      for (let at = 0; at < 200; at += 1) {
        dials.push(await dial({ ip: "127.0.0.1", port }, 10_000, systemClock, new AbortController().signal).catch((error) => error));
      }
      const failed = dials.filter((each) => each instanceof Error);
      for (let at = 0; at < 20; at += 1) openSync("/dev/null", "r");
      console.log(failed.length > 50, failed[0].name, failed[0].cause.message);
      process.exit();`;
    await using server = createServer((socket) => socket.on("error", () => {}));
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const args = [
      "-c",
      'ulimit -n 150; exec "$0" "$@"',
      process.execPath,
      "--input-type=module",
      "-e",
      script,
      `${port}`,
    ];
    const { stdout } = await promisify(execFile)("sh", args);
    expect(stdout.trim()).toBe("true DialError all file descriptors for connections are in use");
  });
});

describe("a dial of a number that is no port", () => {
  it("fails as any other dial, and a later abort is harmless", async () => {
    const unexpected: unknown[] = [];
    using _reports = onUnexpectedError((...report) => unexpected.push(report));
    const stop = new AbortController();
    await expect(dial(noPort, 1_000, systemClock, stop.signal)).rejects.toThrow(DialError);
    stop.abort();
    expect(unexpected).toEqual([]);
  });

  it("can be cancelled before it has failed", async () => {
    const stop = new AbortController();
    const dialled = dial(noPort, 1_000, systemClock, stop.signal);
    stop.abort(new Error("left"));
    await expect(dialled).rejects.toThrow("left");
  });

  it("reports its failure after the constructor has returned", async () => {
    const failed = Promise.withResolvers<Dial>();
    const listener = {
      connected: () => failed.reject(new Error("connected")),
      failed: (_: unknown, own: Dial) => failed.resolve(own),
    };
    const begun = new Dial(noPort, 1_000, systemClock, listener);
    expect(await failed.promise).toBe(begun);
  });
});

describe("a sandbox whose template gets an invalid port while its Pod runs", () => {
  it("is reached on the default port, and the replica keeps running", async () => {
    await using world = await openActivatorWorld();
    await world.awake(
      "mine",
      httpProgram((_, response) => response.end("mine")),
    );
    const { podTemplate } = aSandbox("mine", {
      podTemplate: { spec: { containers: [{ name: "main", image: "program", ports: [{ containerPort: 70_000 }] }] } },
    }).spec;
    await world.api.client.patch(
      sandboxType,
      { namespace: "default", name: "mine" },
      { type: "merge", body: { spec: { podTemplate } } },
    );
    await eventually(
      async () =>
        (await world.sandbox("mine")).spec.podTemplate.spec.containers[0]?.ports?.[0]?.containerPort === 70_000,
    );
    using client = await rawConnection(world.activator);
    client.send("GET / HTTP/1.1\r\nHost: mine.default.sandbox.localhost\r\n\r\n");
    expect(await client.until("mine")).toMatch(/^HTTP\/1.1 200 /);
  });
});
