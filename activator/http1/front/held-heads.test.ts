import { expect, it } from "vitest";
import { heapBytesOf } from "../../../test/support/heap-bytes.ts";
import { RequestHeadParser, requestHeadLimits } from "../parse/request-head-parser.ts";
import { ClientRequest } from "./client-request.ts";

const fields = (count: number, value: string) =>
  Array.from({ length: count }, (_, at) => `x-a${at}: ${value}\r\n`).join("");

/** A request whose head is kept while it is held, and was read. */
function requestWith(lines: string): ClientRequest {
  const bytes = Buffer.from(`GET / HTTP/1.1\r\nHost: nova.example\r\n${lines}\r\n`);
  const parser = new RequestHeadParser({ ...requestHeadLimits, sectionBytesMax: 65_536 });
  expect(parser.push(bytes, 0, bytes.length)).toBe("complete");
  const request = new ClientRequest(parser.head.keep(), { peer: "192.0.2.1", clientIp: "192.0.2.1", scheme: "http" });
  expect(request.headers.length).toBeGreaterThan(0);
  return request;
}

it.each([
  ["one long field", fields(1, "b".repeat(8_000))],
  ["120 fields", fields(120, "b".repeat(55))],
  ["98 short fields", fields(98, "b")],
])("a head with %s takes at most 3 KiB more memory than it counts", async (_, lines) => {
  const kept: ClientRequest[] = [];
  const bytes = await heapBytesOf(() => {
    for (let count = 0; count < 200; count += 1) kept.push(requestWith(lines));
  });
  const [first] = kept;
  expect(bytes / kept.length).toBeLessThan((first?.bytes ?? 0) + 3_072);
});

it("a head with many fields is large, however few bytes they have", () => {
  expect([requestWith(fields(30, "b")).isLarge, requestWith(fields(100, "b")).isLarge]).toEqual([false, true]);
});
