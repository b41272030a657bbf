import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import { openBackend } from "../../test/support/proxy-path.ts";
import { commonBuffer, newSocket, type SocketReader } from "./wire-socket.ts";

/**
 * What the reader of a socket is told if Node reports an end after the other side has done that. `hasEnded`: the socket has ended its
 * own side before, so that it can write nothing.
 */
async function toldAfter(act: (other: Socket) => void, hasEnded: boolean): Promise<readonly string[]> {
  const told: string[] = [];
  const reader: SocketReader = {
    wantsMore: false, // so that only the test says what has happened
    nextBuffer: () => commonBuffer,
    take() {},
    ended: () => void told.push("ended"),
    drained() {},
    writeFailed: () => false,
    closed: () => void told.push("closed"),
  };
  const { promise: accepted, resolve: accept } = Promise.withResolvers<Socket>();
  await using backend = await openBackend(accept);
  const socket = newSocket();
  socket.reader = reader;
  socket.connect({ port: backend.port, host: "127.0.0.1" });
  await once(socket, "connect");
  const other = await accepted;
  if (hasEnded) {
    const ending = once(other.resume(), "end");
    socket.end();
    await ending;
  }
  act(other);
  await eventually(() => other.writableFinished || other.closed);
  socket.push(null); // as libuv does for some resets that come right behind data
  socket.read(0);
  await eventually(() => told.length > 0);
  socket.destroy();
  await eventually(() => told.at(-1) === "closed");
  return told;
}

describe.each([
  { what: "that can be written", hasEnded: false },
  { what: "whose own side has ended", hasEnded: true },
])("of a connection $what", ({ hasEnded }) => {
  it("a reset that Node reports as an end is none: the connection is closed", async () => {
    expect(await toldAfter((other) => void other.resetAndDestroy(), hasEnded)).toEqual(["closed"]);
  });

  it("an end is one, also if the other side has closed its connection", async () => {
    expect(await toldAfter((other) => void other.end(), hasEnded)).toEqual(["ended", "closed"]);
    expect(await toldAfter((other) => void other.destroy(), hasEnded)).toEqual(["ended", "closed"]);
  });
});
