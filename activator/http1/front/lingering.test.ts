import type { Socket } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { FakeClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { dialled, openBackend, openProxyPath } from "../../../test/support/proxy-path.ts";
import { Linger, LingeringClients } from "./lingering.ts";

/** A client whose upload was answered early. It has read nothing yet. */
async function openAnswered() {
  await using opened = new AsyncDisposableStack();
  const clock = new FakeClock();
  const dropped = vi.spyOn(Linger.prototype, "dropped");
  onTestFinished(() => dropped.mockRestore());
  const early = "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno";
  const backend = opened.use(await openBackend((socket) => void socket.once("data", () => socket.write(early))));
  const path = opened.use(await openProxyPath(backend.port, { clock }));
  const socket: Socket = await dialled(path.port);
  opened.defer(() => void socket.destroy());
  const got = { text: "", end: "" };
  socket.pause().on("data", (bytes: Buffer) => (got.text += bytes.toString("latin1")));
  socket.on("error", (error: NodeJS.ErrnoException) => (got.end ||= error.code ?? error.message));
  for (const event of ["end", "close"]) socket.on(event, () => (got.end ||= event));
  socket.write("POST / HTTP/1.1\r\nHost: nova\r\nContent-Length: 9999999\r\n\r\nx");
  await eventually(() => path.ends.length === 1);
  const closing = opened.move();
  return {
    ...{ clock, path, socket, got },
    /** Sends more of the upload after a pause, if the connection is still open. */
    async sendAfter(pauseMs: number): Promise<void> {
      await clock.advance(pauseMs);
      const before = dropped.mock.calls.length;
      socket.write("more");
      await eventually(() => dropped.mock.calls.length > before || path.connections.open === 0);
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

const second = 1_000;

describe("a client that is still uploading when it is answered", () => {
  it("gets the answer although it pauses for almost 5 s, again and again", async () => {
    await using world = await openAnswered();
    for (let pause = 0; pause < 6; pause += 1) await world.sendAfter(4.8 * second);
    world.socket.resume();
    await eventually(() => world.got.end !== "");
    expect(world.got).toEqual({ text: expect.stringMatching(/^HTTP\/1.1 403 No\r\n[\s\S]*\r\n\r\nno$/), end: "end" });
  });

  it("is closed after a pause of 5 s", async () => {
    await using world = await openAnswered();
    await world.sendAfter(4.8 * second);
    await world.clock.advance(4.8 * second);
    expect(world.path.connections.open).toBe(1);
    await world.clock.advance(0.3 * second);
    await world.path.empty();
  });

  it("is closed after 30 s, whatever it sends", async () => {
    await using world = await openAnswered();
    for (let pause = 0; pause < 7; pause += 1) await world.sendAfter(4 * second);
    await world.clock.advance(1.8 * second);
    expect(world.path.connections.open).toBe(1);
    await world.clock.advance(0.3 * second);
    await world.path.empty();
  });
});

it("a client that has sent its whole request is closed after 2 s, if it does not close", async () => {
  await using world = await openAnswered();
  const socket = await dialled(world.path.port);
  socket.write("GET / HTTP/1.1\r\nHost: nova\r\n\r\n");
  await eventually(() => world.path.ends.length === 2);
  world.path.front.stopAccepting();
  await world.clock.advance(1.8 * second);
  expect(world.path.connections.open).toBe(2);
  await world.clock.advance(0.3 * second);
  await eventually(() => world.path.connections.open === 1);
  socket.destroy();
});

/** A client that counts how often it is cut. */
const client = () => ({
  cuts: 0,
  cut() {
    this.cuts += 1;
  },
});

describe("clients that send after their last answer", () => {
  it("are closed beyond 256 MiB", () => {
    const sender = client();
    const linger = new Linger(sender, new LingeringClients(), 0, true);
    linger.dropped(268_435_456, 0);
    expect(sender.cuts).toBe(0);
    linger.dropped(1, 0);
    expect(sender.cuts).toBe(1);
  });

  it("are at most 1,000: beyond that the one that was answered first is closed", () => {
    const all = new LingeringClients();
    const senders = Array.from({ length: 1_002 }, client);
    for (const sender of senders.slice(0, 1_001)) new Linger(sender, all, 0, true);
    expect(senders.map(({ cuts }) => cuts).slice(0, 3)).toEqual([1, 0, 0]);
    const [, next, , left] = senders;
    if (left) all.leave(left);
    const quiet = new Linger(senders[1_001] ?? client(), all, 0, false);
    expect([all.size, next?.cuts]).toEqual([999, 0]);
    quiet.dropped(1, 0);
    expect([all.size, next?.cuts]).toEqual([1_000, 0]);
  });
});
