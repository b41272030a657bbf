import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import { openBackend } from "../../test/support/proxy-path.ts";
import { commonBuffer, newSocket, type SocketReader } from "./wire-socket.ts";

interface Writing {
  readonly hasEnded?: boolean;
  readonly isFull?: boolean;
}

/**
 * What the reader of a socket is told if Node reports an end after the other side has done that. `hasEnded`: the socket has ended its
 * own side before, so that it can write nothing. `isFull`: bytes wait to be sent, because the other side reads nothing.
 */
async function toldAfter(
  act: (other: Socket) => void,
  { hasEnded = false, isFull = false }: Writing,
): Promise<readonly string[]> {
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
  while (isFull && socket.writableLength === 0) socket.write(Buffer.alloc(1_000_000));
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
  { what: "that can be written", writing: {} },
  { what: "whose own side has ended", writing: { hasEnded: true } },
  { what: "with bytes that wait to be sent", writing: { isFull: true } },
])("of a connection $what", ({ writing }) => {
  it("a reset that Node reports as an end is none: the connection is closed", async () => {
    expect(await toldAfter((other) => void other.resetAndDestroy(), writing)).toEqual(["closed"]);
  });

  it("an end is one", async () => {
    expect(await toldAfter((other) => void other.end(), writing)).toEqual(["ended", "closed"]);
  });

  it("a close is an end, but a reset if the other side has not read all", async () => {
    const told = writing.isFull ? ["closed"] : ["ended", "closed"];
    expect(await toldAfter((other) => void other.destroy(), writing)).toEqual(told);
  });
});
