import { expect, it, onTestFinished, vi } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import { dialled, openBackend, openProxyPath } from "../../test/support/proxy-path.ts";
import { ReadPlace } from "./read-place.ts";

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
