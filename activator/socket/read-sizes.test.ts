import { expect, it, onTestFinished, vi } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import { dialled, openBackend, openProxyPath } from "../../test/support/proxy-path.ts";
import { BufferLoans, ReadPlace } from "./read-place.ts";

/** The sizes of the buffers that reads from clients landed in. */
function watchReads() {
  const buffers: number[] = [];
  const places = new Set<ReadPlace>();
  const { landed } = ReadPlace.prototype;
  const spy = vi.spyOn(ReadPlace.prototype, "landed").mockImplementation(function note(this: ReadPlace, bytes) {
    places.add(this);
    const [client] = places; // what comes first is a request
    if (this === client) buffers.push(bytes.length);
    return landed.call(this, bytes);
  });
  onTestFinished(() => spy.mockRestore());
  return buffers;
}

it.each([
  { when: "for a sleeping sandbox", target: "/held" },
  { when: "for a running sandbox", target: "/" },
])("a large upload $when is read by 128 KiB from its third read on", async ({ target }) => {
  const buffers = watchReads();
  let length = 0;
  await using backend = await openBackend((socket) => {
    socket.on("data", (bytes: Buffer) => (length += bytes.length)).on("end", () => socket.end());
  });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  await using path = await openProxyPath(backend.port, { released });
  const client = await dialled(path.port);
  const body = Buffer.alloc(2_000_000, "x");
  const head = `POST ${target} HTTP/1.1\r\nHost: nova\r\nContent-Length: ${body.length}\r\n\r\n`;
  client.write(Buffer.concat([Buffer.from(head), body]));
  if (target === "/held") await eventually(() => buffers.length > 0);
  release();
  await eventually(() => length > body.length);
  const [first, second, ...others] = buffers;
  expect(first).toBe(16_384);
  expect(second).toBeLessThanOrEqual(16_384);
  expect(new Set(others)).toEqual(new Set([131_072]));
  client.destroy();
});

it.each([
  { what: "downloads", head: "GET /", response: "Content-Length: 99999999\r\n\r\n" },
  { what: "uploads", head: "POST /", response: undefined },
])("stalled $what of one namespace leave others a quarter of the read buffers", async ({ head, response }) => {
  const much = Buffer.alloc(16_000_000, "x");
  await using backend = await openBackend((socket) => {
    socket.once("data", () => {
      if (response === undefined) socket.pause();
      else socket.write(Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\n${response}`), much]));
    });
  });
  await using path = await openProxyPath(backend.port, { readBuffers: 8 });
  using clients = new DisposableStack();
  const stall = async () => {
    const client = await dialled(path.port);
    clients.defer(() => client.destroy());
    client.pause().write(`${head} HTTP/1.1\r\nHost: nova\r\nContent-Length: ${response ? 0 : much.length}\r\n\r\n`);
    if (!response) client.write(much);
  };
  for (let count = 0; count < 6; count += 1) await stall();
  await eventually(() => path.lent === 6);
  const { borrow } = BufferLoans.prototype;
  let refusals = 0;
  const spy = vi.spyOn(BufferLoans.prototype, "borrow").mockImplementation(function note(this: BufferLoans, owner) {
    const isLent = borrow.call(this, owner);
    if (!isLent) refusals += 1;
    return isLent;
  });
  onTestFinished(() => spy.mockRestore());
  for (let count = 0; count < 3; count += 1) await stall();
  await eventually(() => refusals >= 3);
  expect(path.lent).toBe(6);
});

it("the last quarter of the buffers is for owners that have fewer than are left", () => {
  const loans = new BufferLoans(16);
  const taken = (owner: string | undefined): number => {
    let count = 0;
    while (loans.borrow(owner)) count += 1;
    return count;
  };
  expect(["a", "b", "c"].map(taken)).toEqual([12, 2, 1]);
  loans.giveBack("a");
  expect([taken("a"), taken("d"), taken(undefined)]).toEqual([0, 1, 1]);
});
