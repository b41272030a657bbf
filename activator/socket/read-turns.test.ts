import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { bytesInOneTurn, quickReadMs, ReadTurns, readsInOneTurn } from "./read-turns.ts";
import { type Adoption, adoptAccepted, plainAcceptedSocket, type WireSocket } from "./wire-socket.ts";

const smallRead = Buffer.alloc(1_024);
/** When a read began that is no longer quick at time 0. */
const slow = -quickReadMs;
const sent = Buffer.alloc(60 * smallRead.length);

/** Sends many bytes to a socket that reads few at a time. Returns how often it read them in each turn of the event loop. */
async function readsPerTurn(by: Adoption): Promise<number[]> {
  const perTurn: number[] = [];
  const whole = Promise.withResolvers<void>();
  let [thisTurn, left, isOpen] = [0, sent.length, false];
  const reader = {
    get wantsMore() {
      return isOpen;
    },
    nextBuffer: () => smallRead,
    take(_: Buffer, length: number) {
      if (thisTurn === 0) {
        setImmediate(() => {
          perTurn.push(thisTurn);
          thisTurn = 0;
          if (left === 0) whole.resolve();
        });
      }
      thisTurn += 1;
      left -= length;
    },
    ...{ ended() {}, drained() {}, writeFailed: () => false, closed() {} },
  };
  const accepted = Promise.withResolvers<WireSocket>();
  const server = createServer(plainAcceptedSocket, (socket) => {
    accepted.resolve(adoptAccepted(socket, () => reader, by, smallRead));
  });
  using _closing = { [Symbol.dispose]: () => void server.close() };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  await new Promise<void>((resolve) => client.write(sent, () => resolve()));
  const socket = await accepted.promise;
  isOpen = true;
  socket.readOn();
  await whole.promise;
  client.destroy();
  socket.destroy();
  return perTurn;
}

describe("reads of one socket", () => {
  it.each<Adoption>(["handle", "events"])("are few in each turn of the event loop, by %s", async (by) => {
    expect(Math.max(...(await readsPerTurn(by)))).toBe(readsInOneTurn);
  });

  it("rest by number and by bytes, and go on in the next turn", async () => {
    const turns = new ReadTurns(() => 0);
    const [small, large] = [fakeSocket(), fakeSocket()];
    for (let at = 1; at < readsInOneTurn; at += 1) expect(turns.endsWith(small, 1, 0)).toBe(false);
    expect(turns.endsWith(small, 1, 0)).toBe(true);
    expect(turns.endsWith(large, bytesInOneTurn, slow)).toBe(true);
    expect([turns.isOverFor(small), turns.isOverFor(large), small.resumed]).toEqual([true, true, 0]);
    await new Promise((resolve) => setImmediate(resolve));
    expect([turns.isOverFor(small), small.resumed, large.resumed]).toEqual([false, 1, 1]);
  });

  it("count for their bytes only if they are small or slow", () => {
    const turns = new ReadTurns(() => 0);
    const socket = fakeSocket();
    const quick = turns.beganAt(bytesInOneTurn);
    for (let at = 0; at < 10; at += 1) expect(turns.endsWith(socket, bytesInOneTurn, quick)).toBe(false);
    expect(turns.endsWith(socket, bytesInOneTurn - 1, slow)).toBe(false);
    expect(turns.endsWith(socket, 1, turns.beganAt(1))).toBe(true);
  });

  it("that are quick rest by number", () => {
    const turns = new ReadTurns(() => 0);
    const socket = fakeSocket();
    for (let at = 1; at < readsInOneTurn; at += 1) expect(turns.endsWith(socket, bytesInOneTurn, 0)).toBe(false);
    expect(turns.endsWith(socket, bytesInOneTurn, 0)).toBe(true);
  });

  it("are not limited by those of others", () => {
    const turns = new ReadTurns(() => 0);
    const sockets = [fakeSocket(), fakeSocket()];
    for (let at = 0; at < 100; at += 1) {
      for (const socket of sockets) expect(turns.endsWith(socket, 1_000, 0)).toBe(false);
    }
  });

  it("of a socket that was closed while it rests do not go on", async () => {
    const turns = new ReadTurns(() => 0);
    const socket = fakeSocket();
    expect(turns.endsWith(socket, bytesInOneTurn, slow)).toBe(true);
    turns.forget(socket);
    await new Promise((resolve) => setImmediate(resolve));
    expect(socket.resumed).toBe(0);
  });
});

function fakeSocket() {
  return {
    resumed: 0,
    readOn() {
      this.resumed += 1;
    },
  };
}
