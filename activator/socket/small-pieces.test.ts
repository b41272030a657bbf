import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import { memoryBytesOf } from "../../test/support/heap-bytes.ts";
import { type BodyPath, openTlsUpload, openWaitingClient, ways } from "../../test/support/labs/slow-reader-lab.ts";

/** What may wait for a reader, with the objects around it: two small reads, and as much again. */
const allowedBytes = 65_536;
/** Many times what may wait, if each piece took the memory that a write of Node takes. */
const piecesMax = 3_000;
/** The turns in which a piece that can be read was read. */
const turnsMax = 20;
const fillBytes = 4_000;

const turn = () => new Promise((resolve) => setImmediate(resolve));

const pattern = Uint8Array.from({ length: 251 }, (_, at) => at);

/** Bytes whose order shows. They are copied from the pattern: computing each took most of the time of these tests. */
function bodyOf(from: number, length: number): Buffer {
  const start = from % pattern.length;
  return Buffer.from(Buffer.alloc(start + length, pattern).subarray(start));
}

/** Sends so much that the kernel takes no more from the activator. Returns how much that was. */
async function fill({ sender, target }: BodyPath): Promise<number> {
  let sent = 0;
  for (let waiting = 0; waiting < turnsMax; waiting = target.writableLength > 0 ? waiting + 1 : 0) {
    if (target.writableLength === 0) {
      sender.write(bodyOf(sent, fillBytes));
      sent += fillBytes;
    }
    await turn();
  }
  return sent;
}

/** Sends pieces one by one, each after the one before was read. Ends when the activator reads no more. */
async function sendPieces({ sender, source }: BodyPath, from: number, pieceBytes: number): Promise<number> {
  for (let sent = 0; sent < piecesMax * pieceBytes; sent += pieceBytes) {
    const read = source.bytesRead;
    sender.write(bodyOf(from + sent, pieceBytes));
    for (let turns = 0; source.bytesRead < read + pieceBytes; turns++) {
      if (turns >= turnsMax) return sent + pieceBytes;
      await turn();
    }
    passThePool();
  }
  return piecesMax * pieceBytes;
}

/** As other connections do: later pieces share no block of Node's pool with this one. */
function passThePool(): void {
  for (let bytes = 0; bytes < Buffer.poolSize; bytes += 1_024) Buffer.allocUnsafe(1_024);
}

async function read(reader: Socket, length: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let got = 0;
  for await (const bytes of reader.iterator({ destroyOnReturn: false })) {
    parts.push(bytes);
    got += bytes.length;
    if (got >= length) break;
  }
  return Buffer.concat(parts);
}

const cases = ways.flatMap((way) => [1, 600, 5_000].map((pieceBytes) => ({ ...way, pieceBytes })));

describe("for a reader that has stopped", { timeout: 60_000 }, () => {
  it.each(cases)("$what in pieces of $pieceBytes bytes takes the memory of its bytes", async ({ open, pieceBytes }) => {
    await using path = await open();
    let length = await fill(path);
    const bytes = await memoryBytesOf(async () => {
      length += await sendPieces(path, length, pieceBytes);
    });
    expect(path.target.writableLength).toBeGreaterThan(0);
    expect(bytes).toBeLessThan(allowedBytes);
    const got = await read(path.reader, length);
    expect(got.equals(bodyOf(0, length))).toBe(true);
  });
});

describe("over TLS", { timeout: 60_000 }, () => {
  it("records of one byte that come after reading has stopped take no memory for each", async () => {
    await using path = await openTlsUpload();
    const { sender, source, target, reader } = path;
    let length = await fill(path);
    for (; source.readableFlowing !== false; length += fillBytes) {
      await new Promise((sent) => sender.write(bodyOf(length, fillBytes), sent));
      await turn();
    }
    const bytes = await memoryBytesOf(async () => {
      for (let sent = 0; sent < piecesMax; sent++) {
        await new Promise((done) => sender.write(bodyOf(length + sent, 1), done));
        await turn();
      }
    });
    length += piecesMax;
    expect(target.writableLength).toBeGreaterThan(0);
    expect(bytes).toBeLessThan(allowedBytes);
    expect((await read(reader, length)).equals(bodyOf(0, length))).toBe(true);
  });
});

describe("for a sandbox that wakes", () => {
  it("what TCP clients have sent takes the memory of its bytes", async () => {
    await using opened = new AsyncDisposableStack();
    const clients = await Promise.all(Array.from({ length: 32 }, () => openWaitingClient()));
    for (const client of clients) opened.use(client);
    const bytes = await memoryBytesOf(async () => {
      for (const { client, waiting } of clients) {
        client.write("x");
        await eventually(() => waiting.socket.bytesRead > 0);
        passThePool();
      }
    });
    expect(bytes / clients.length).toBeLessThan(8_192);
  });
});
