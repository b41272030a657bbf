import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { configMapType } from "../../api/kinds/core.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { type MemoryApi, openMemoryApi } from "../../test/support/memory-api.ts";

const collection = "/api/v1/namespaces/default/configmaps";
const initial = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
const objects = 12;

/** Stores 12 MB, more than a watch may lag. */
async function fill({ client }: MemoryApi): Promise<string> {
  let version = "";
  for (let index = 0; index < objects; index += 1) {
    const made = await client.create(configMapType, {
      metadata: { name: `c${index}`, namespace: "default" },
      data: { x: "y".repeat(1_000_000) },
    });
    if (index === 0) version = made.metadata.resourceVersion ?? "";
  }
  return version;
}

const touch = ({ client }: MemoryApi, value: string) => {
  const body = { metadata: { labels: { value } } };
  return client.patch(configMapType, { namespace: "default", name: "c0" }, { type: "merge", body });
};

interface Line {
  readonly type: string;
  readonly object: {
    readonly code?: number;
    readonly metadata: { readonly labels?: Record<string, string> };
    /** Of a table. */
    readonly rows?: readonly { readonly cells: readonly unknown[] }[];
  };
}

const typesOf = (lines: readonly Line[]) => lines.map(({ type }) => type);

/** A watch whose client reads nothing at first, and then as many events as it is asked for. */
async function openWatch({ url }: MemoryApi, query: string, accept = "application/json") {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.write(`GET ${collection}?${query} HTTP/1.0\r\nhost: ${hostname}:${port}\r\naccept: ${accept}\r\n\r\n`);
  await once(socket, "readable");
  return {
    async next(count: number): Promise<readonly Line[]> {
      let text = "";
      const whole = () => text.split("\n").slice(0, -1);
      const events = () => whole().filter((line) => line.startsWith("{"));
      for await (const chunk of socket.setEncoding("latin1")) {
        text += chunk;
        if (String(chunk).includes("\n") && events().length >= count) break;
      }
      return events().map((line): Line => JSON.parse(line));
    },
  };
}

describe("a watch whose first events are larger than what a watch may lag", () => {
  it("sends all objects and the mark of their end", async () => {
    await using api = await openMemoryApi();
    await fill(api);
    const watch = await openWatch(api, initial);
    expect(typesOf(await watch.next(objects + 1))).toEqual([...Array(objects).fill("ADDED"), "BOOKMARK"]);
  });

  it("sends all changes since a version", async () => {
    await using api = await openMemoryApi();
    const version = await fill(api);
    const watch = await openWatch(api, `watch=1&resourceVersion=${version}`);
    expect(typesOf(await watch.next(objects - 1))).toEqual(Array(objects - 1).fill("ADDED"));
  });
});

describe("a watch whose client reads its first events slowly", () => {
  it("sends what changed meanwhile behind the mark of their end, in order", async () => {
    await using api = await openMemoryApi();
    await fill(api);
    const watch = await openWatch(api, initial);
    for (const value of ["one", "two"]) await touch(api, value);
    const lines = await watch.next(objects + 3);
    expect(typesOf(lines)).toEqual([...Array(objects).fill("ADDED"), "BOOKMARK", "MODIFIED", "MODIFIED"]);
    const changes = lines.slice(-2).map(({ object }) => object.metadata.labels?.["value"]);
    expect(changes).toEqual(["one", "two"]);
  });

  it("is cut off once more has changed than a watch may lag", async () => {
    await using api = await openMemoryApi();
    await fill(api);
    const watch = await openWatch(api, initial);
    for (let count = 0; count < 9; count += 1) await touch(api, String(count));
    const last = (await watch.next(Number.POSITIVE_INFINITY)).at(-1);
    expect(last).toMatchObject({ type: "ERROR", object: { code: 410 } });
  });
});

describe("a watch with a version of the future", () => {
  it("that must list so new objects first ends with 504, as a list does", async () => {
    await using api = await openMemoryApi();
    await api.client.create(configMapType, { metadata: { name: "c0", namespace: "default" } });
    const watch = await openWatch(api, `${initial}&resourceVersion=1000000`);
    const [only, ...rest] = await watch.next(1);
    expect(only).toMatchObject({ type: "ERROR", object: { code: 504, reason: "Timeout" } });
    expect(rest).toEqual([]);
  });
});

it("a watch of tables shows each age as of now, also of an object that a watch has shown before", async () => {
  const clock = new FakeClock();
  await using api = await openMemoryApi({ clock });
  await api.client.create(configMapType, { metadata: { name: "c0", namespace: "default" } });
  const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
  const age = async () => {
    const watch = await openWatch(api, "watch=1&fieldSelector=metadata.name%3Dc0", accept);
    const [line] = await watch.next(1);
    return line?.object.rows?.[0]?.cells.at(-1);
  };
  expect(await age()).toBe("0s");
  await clock.advance(3_600_000);
  expect(await age()).toBe("60m");
});
