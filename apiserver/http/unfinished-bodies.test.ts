import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import { StatusError } from "../status-errors.ts";
import { UnfinishedBodies } from "./unfinished-bodies.ts";

const KiB = 2 ** 10;
const codeOf = (act: () => void): number | undefined => {
  try {
    act();
    return undefined;
  } catch (error) {
    return error instanceof StatusError ? error.code : 500;
  }
};

describe("the unfinished bodies of all requests", () => {
  it("has a limit for each body", () => {
    using body = new UnfinishedBodies(20 * KiB).begin();
    body.add(Buffer.alloc(20 * KiB));
    expect(codeOf(() => body.add(Buffer.alloc(1)))).toBe(413);
  });

  it("has a limit for the sum of large bodies, and takes small ones beyond it", () => {
    const bodies = new UnfinishedBodies(100 * KiB, 100 * KiB);
    using large = bodies.begin();
    large.add(Buffer.alloc(96 * KiB));
    using other = bodies.begin();
    other.add(Buffer.alloc(30 * KiB));
    expect(codeOf(() => other.add(Buffer.alloc(10 * KiB)))).toBe(429);
    using small = bodies.begin();
    small.add(Buffer.alloc(16 * KiB));
    expect(small.join()).toHaveLength(16 * KiB);
  });

  it("gives the memory of a body back once, whether it was whole, too large or rejected", () => {
    const bodies = new UnfinishedBodies(40 * KiB, 60 * KiB);
    for (let round = 0; round < 10; round += 1) {
      const [first, second] = [bodies.begin(), bodies.begin()];
      first.add(Buffer.alloc(40 * KiB));
      codeOf(() => first.add(Buffer.alloc(1)));
      second.add(Buffer.alloc(40 * KiB - 1));
      codeOf(() => bodies.begin().add(Buffer.alloc(40 * KiB)));
      for (const body of [first, second, first]) body[Symbol.dispose]();
    }
    expect(bodies.sharedBytes).toBe(0);
  });
});

it("many large bodies that never end are rejected, and small writes are served meanwhile", async () => {
  await using api = await openMemoryApi();
  const { host, hostname, port } = new URL(api.url);
  const path = "/api/v1/namespaces/default/configmaps";
  const length = 3_000_000;
  const fields = [`host: ${host}`, "content-type: application/json", `content-length: ${length}`];
  const head = `POST ${path} HTTP/1.1\r\n${fields.join("\r\n")}\r\n\r\n`;
  await using stack = new AsyncDisposableStack();
  const firstLines = Array.from({ length: 30 }, async () => {
    const socket = connect({ host: hostname, port: Number(port) });
    stack.defer(() => void socket.destroy());
    socket.on("error", () => {});
    socket.write(head);
    socket.write(Buffer.alloc(length - 1, " "));
    const [data] = await once(socket, "data");
    return String(data).split("\r\n", 1)[0];
  });
  expect(await Promise.race(firstLines)).toBe("HTTP/1.1 429 Too Many Requests");
  const headers = { "content-type": "application/json" };
  const small = { method: "POST", headers, body: JSON.stringify({ metadata: { name: "small" } }) };
  expect((await fetch(`${api.url}${path}`, small)).status).toBe(201);
});
