import { createHash } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../lib/time/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { BufferLoans, ReadPlace } from "./read-place.ts";
import { endRelay, RelaySide, relay } from "./relay.ts";
import {
  type Adoption,
  adoptAccepted,
  adoptionOf,
  newSocket,
  plainAcceptedSocket,
  type WireSocket,
  writeAheadBytes,
} from "./wire-socket.ts";

const megabyte = 1_048_576;
const opened: (Server | Socket)[] = [];

afterEach(async () => {
  for (const one of opened) if ("destroy" in one) one.destroy();
  for (const one of opened.splice(0)) if ("close" in one) await new Promise((resolve) => one.close(resolve));
});

async function listening(server: Server): Promise<number> {
  opened.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

async function connected(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  opened.push(socket);
  await once(socket, "connect");
  return socket;
}

/** Both ends of a connection that goes through a relay, and the server in its middle. */
async function throughRelay(by: Adoption | undefined, loans = new BufferLoans(16)) {
  const far = Promise.withResolvers<Socket>();
  const joined = Promise.withResolvers<{ readonly incoming: WireSocket; readonly outgoing: WireSocket }>();
  const back = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    opened.push(socket);
    far.resolve(socket);
  });
  const backPort = await listening(back);
  const middle = createServer(plainAcceptedSocket, (accepted) => {
    const outgoing = newSocket();
    outgoing.connect({ port: backPort, host: "127.0.0.1" });
    outgoing.once("connect", () => {
      const readerOf = (incoming: WireSocket) => new RelaySide(incoming, outgoing, new ReadPlace(loans, incoming));
      const incoming = adoptAccepted(accepted, readerOf, by ?? adoptionOf(accepted));
      relay(incoming, outgoing, loans);
      joined.resolve({ incoming, outgoing });
    });
  });
  const near = await connected(await listening(middle));
  return { near, far: await far.promise, middle, loans, ...(await joined.promise) };
}

/** Bytes in which a block that is lost, repeated or written over shows. */
function numbered(length: number, salt: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  for (let at = 0; at + 4 <= length; at += 4) bytes.writeUInt32LE((at * 2_654_435_761 + salt) >>> 0, at);
  return bytes;
}

const digest = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

async function readAll(socket: Socket, onFirst: () => Promise<void> = async () => {}): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of socket.iterator({ destroyOnReturn: false })) if (parts.push(part) === 1) await onFirst();
  return Buffer.concat(parts);
}

function sendAll(socket: Socket, bytes: Buffer, pieceBytes: number): void {
  for (let at = 0; at < bytes.length; at += pieceBytes) socket.write(bytes.subarray(at, at + pieceBytes));
  socket.end();
}

/** Forwards a first read, and then reads no more until a write of the other direction has failed. */
class LateSide extends RelaySide {
  #reads = 1;

  override get wantsMore(): boolean {
    return this.#reads > 0 && super.wantsMore;
  }

  override take(bytes: Buffer, length: number): void {
    this.#reads -= 1;
    super.take(bytes, length);
  }

  override writeFailed(): boolean {
    this.#reads = Number.POSITIVE_INFINITY;
    return super.writeFailed();
  }
}

/** Waits until the other side has stopped taking: nothing more leaves the socket for a while of turns. */
async function stalled(socket: Pick<Socket, "bytesWritten" | "writableLength">): Promise<void> {
  for (
    let [last, quiet] = [-1, 0];
    quiet < 50;
    quiet = socket.bytesWritten - socket.writableLength === last ? quiet + 1 : 0
  ) {
    last = socket.bytesWritten - socket.writableLength;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Waits until the sender's bytes fill every buffer up to that of the relay, and nothing moves any more. */
async function backedUp(sender: Parameters<typeof stalled>[0], behind: Pick<Socket, "writableLength">): Promise<void> {
  do await stalled(sender);
  while (behind.writableLength === 0 && sender.writableLength > 0);
}

describe.each<{ readonly how: string; readonly by: Adoption | undefined }>([
  { how: "as this Node allows", by: undefined },
  { how: "from events", by: "events" },
])("a relay that reads $how", ({ by }) => {
  it("relays both directions at once, each to its last byte, between slow readers", async () => {
    const { near, far } = await throughRelay(by);
    const [up, down] = [numbered(24 * megabyte, 1), numbered(24 * megabyte, 2)];
    sendAll(near, up, 100_000);
    sendAll(far, down, 100_000);
    // Neither end has read anything yet, so every buffer on the way fills up.
    await stalled(near);
    await stalled(far);
    expect(near.writableLength).toBeGreaterThan(0);
    const [gotUp, gotDown] = await Promise.all([readAll(far), readAll(near)]);
    expect(digest(gotUp)).toBe(digest(up));
    expect(digest(gotDown)).toBe(digest(down));
  });

  it("relays many small writes to a stalled reader", async () => {
    const { near, far } = await throughRelay(by);
    const bytes = numbered(12 * megabyte, 3);
    sendAll(near, bytes, 997);
    await stalled(near);
    expect(digest(await readAll(far))).toBe(digest(bytes));
  });

  it("keeps at most two small reads for a reader that has stopped, without a buffer of its own", async () => {
    const { near, far, incoming } = await throughRelay(by, new BufferLoans(0));
    const bytes = numbered(12 * megabyte, 5);
    sendAll(far, bytes, 100_000);
    await backedUp(far, incoming);
    expect(far.writableLength).toBeGreaterThan(0);
    expect(incoming.writableLength).toBeGreaterThan(0);
    expect(incoming.writableLength).toBeLessThanOrEqual(2 * writeAheadBytes);
    expect(digest(await readAll(near))).toBe(digest(bytes));
  });

  it("keeps at most two small reads for a server that has stopped, without a buffer of its own", async () => {
    const { near, far, outgoing } = await throughRelay(by, new BufferLoans(0));
    const bytes = numbered(12 * megabyte, 6);
    sendAll(near, bytes, 100_000);
    await backedUp(near, outgoing);
    expect(near.writableLength).toBeGreaterThan(0);
    expect(outgoing.writableLength).toBeGreaterThan(0);
    expect(outgoing.writableLength).toBeLessThanOrEqual(2 * writeAheadBytes);
    expect(digest(await readAll(far))).toBe(digest(bytes));
  });

  it("keeps a half-closed connection: the response arrives after the request has ended", async () => {
    const { near, far } = await throughRelay(by);
    near.end("question");
    expect(String(await readAll(far))).toBe("question");
    far.end("answer");
    expect(String(await readAll(near))).toBe("answer");
  });

  it("forwards a reset as a reset, so that cut data does not pass for complete", async () => {
    const { near, far } = await throughRelay(by);
    far.write("x");
    await once(near, "readable");
    const failed = new Promise((resolve) => near.on("error", resolve).resume());
    far.resetAndDestroy();
    expect(await failed).toMatchObject({ code: "ECONNRESET" });
  });

  it("forwards the last words of a side that hung up on the other, and then a reset", async () => {
    const { near, far, incoming, outgoing, loans } = await throughRelay(by);
    outgoing.reader = new LateSide(outgoing, incoming, new ReadPlace(loans, outgoing));
    near.write("an upload");
    // What lies unread makes its end a reset.
    await eventually(() => outgoing.bytesWritten === "an upload".length && outgoing.writableLength === 0);
    far.write("hello, ");
    await once(near, "readable");
    await new Promise<void>((resolve) => far.write("too many connections", () => resolve()));
    far.destroy();
    await once(far, "close");
    let heard = "";
    near.on("data", (bytes) => (heard += bytes));
    const failed = new Promise((resolve) => near.on("error", resolve));
    near.write("more of the upload");
    expect(await failed).toMatchObject({ code: "ECONNRESET" });
    expect(heard).toBe("hello, too many connections");
  });

  it("ended by the activator, resets a side that has not taken everything by the limit", async () => {
    const { near, far, incoming, outgoing } = await throughRelay(by);
    const clock = new FakeClock();
    far.on("error", () => {}); // it is cut off as well
    sendAll(far, numbered(20 * megabyte, 4), 100_000);
    await stalled(far);
    endRelay(outgoing, incoming, clock, "grace");
    near.write("x");
    await eventually(() => incoming.bytesRead === 1);
    expect(incoming.destroyed).toBe(false);
    const failed = new Promise((resolve) => near.on("error", resolve));
    await clock.advance(1_000);
    near.resume();
    expect(await failed).toMatchObject({ code: "ECONNRESET" });
  });

  it("resets a side whose bytes arrive before the other side's loss is reported", async () => {
    const { near, far, incoming, outgoing } = await throughRelay(by);
    far.write("x");
    await once(near, "readable");
    const failed = new Promise((resolve) =>
      near
        .on("error", resolve)
        .once("end", () => resolve("an end"))
        .resume(),
    );
    outgoing.destroy(new Error("a write failed"));
    incoming.reader.take(incoming.reader.nextBuffer(), 1);
    expect(await failed).toMatchObject({ code: "ECONNRESET" });
  });

  it("forwards all that a side sent before its end, though it is closed then and the other side sends", async () => {
    const { near, far, incoming, outgoing } = await throughRelay(by);
    let sent = 0;
    for (; incoming.writableLength === 0; sent += 8_000) {
      far.write(numbered(8_000, sent));
      await eventually(() => outgoing.bytesRead === sent + 8_000);
      if (incoming.writableLength > 0) await stalled(incoming);
    }
    far.end();
    await once(outgoing, "end");
    outgoing.destroy();
    near.write("x");
    await eventually(() => incoming.bytesRead === 1);
    expect(incoming.writableLength).toBeGreaterThan(0);
    expect((await readAll(near)).length).toBe(sent);
  });

  it("leaves the server's count of connections right", async () => {
    const { near, far, middle, loans } = await throughRelay(by);
    const connections = () => new Promise((resolve) => middle.getConnections((_, count) => resolve(count)));
    expect(await connections()).toBe(1);
    near.end();
    far.end();
    await Promise.all([readAll(near), readAll(far)]);
    await expect.poll(connections).toBe(0);
    expect(loans.lent).toBe(0);
  });
});

it("this Node lets an accepted socket be wrapped", async () => {
  const accepted = Promise.withResolvers<Adoption>();
  const port = await listening(
    createServer((socket) => {
      opened.push(socket);
      accepted.resolve(adoptionOf(socket));
    }),
  );
  await connected(port);
  expect(await accepted.promise).toBe("handle");
});
