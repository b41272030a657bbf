import { connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { warmPoolSandboxLabel } from "../../api/rules/keys.ts";
import { silentLogger } from "../../lib/log/log.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { OncePerMinute } from "../../lib/time/once-per-minute.ts";
import { aSandbox } from "../../test/support/builders/builders.ts";
import { clientHello } from "../../test/support/builders/client-hello.ts";
import { eventually } from "../../test/support/eventually.ts";
import { novaHost } from "../../test/support/labs/by-name-lab.ts";
import { type TcpTalk, talkTo } from "../../test/support/labs/tcp-front-lab.ts";
import { FirstLists } from "../find/first-lists.ts";
import { ChangeSignal } from "../sandbox/change-signal.ts";
import { Sweep } from "../sweep.ts";
import { ByNameFront, type ByNameFrontParts } from "./by-name-front.ts";
import { unknownName } from "./tls-alerts.ts";
import type { UnnamedClient } from "./unnamed-client.ts";
import { UnnamedClients } from "./unnamed-clients.ts";

/** A front on a fake clock that knows this sandbox by any name, or none. */
async function given({
  unnamedMax = 100,
  maxConnections = 100,
  hasRoom = (): boolean => true,
  sandbox = (): Sandbox | undefined => undefined,
} = {}) {
  const clock = new FakeClock();
  const refused: string[] = [];
  const never = new Promise<void>(() => {});
  const world = { synced: true };
  const cluster = {
    get synced() {
      return world.synced;
    },
    ...{ firstSeen: never, sandbox: () => sandbox() as Stored<Sandbox> | undefined },
    listen: () => Object.assign(new ChangeSignal(), { [Symbol.dispose]() {} }),
  };
  const find = {
    ...{ clock, cluster, lookup: { sandbox, claimed: () => undefined } },
    domains: { domain: "sandbox.localhost", clusterDomain: "cluster.local", serviceNames: [] },
    lists: new FirstLists({ cluster, claims: { settled: true, firstSettled: never } }),
  };
  const parts = {
    ...{ clock, find, hasRoom, log: silentLogger, mayLog: new OncePerMinute(clock), sweep: new Sweep(clock) },
    metrics: { refused: (reason: string) => void refused.push(reason) },
    serve: () => never,
  } as unknown as ByNameFrontParts;
  const options = { host: "127.0.0.1", port: 0, headersTimeoutMs: 10_000, maxConnections };
  const front = new ByNameFront(options, parts, new UnnamedClients(unnamedMax));
  await front.listen();
  const { port } = front.address;
  return { clock, refused, front, world, port, [Symbol.asyncDispose]: () => front[Symbol.asyncDispose]() };
}

const from = async (port: number, localAddress: string): Promise<Socket> => {
  const socket = connect({ port, host: "127.0.0.1", localAddress }).on("error", () => {});
  await new Promise<void>((resolve) => socket.once("connect", resolve));
  return socket;
};
const hello = await clientHello({ servername: novaHost });
const gssRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x30]);
const unfinished = hello.subarray(0, -1);

describe("a client that has not named its sandbox", () => {
  it.each([
    { sends: "nothing", bytes: Buffer.alloc(0) },
    { sends: "a part of its ClientHello", bytes: unfinished },
  ])("is reset at the limit of time if it sends $sends", async ({ bytes }) => {
    await using world = await given();
    using client = await talkTo(world.port);
    client.socket.write(bytes);
    await eventually(() => world.clock.pending > 0);
    await world.clock.advance(9_900);
    expect(client.socket.destroyed).toBe(false);
    await world.clock.advance(200);
    expect(await client.over()).toBe("reset");
    expect(world.refused).toEqual(["NameTimedOut"]);
  });

  it("takes a place, which the oldest of the address with most of them loses when all are taken", async () => {
    await using world = await given({ unnamedMax: 3 });
    const crowd: TcpTalk[] = [];
    using quiet = new DisposableStack();
    const other = await from(world.port, "127.0.0.2");
    quiet.defer(() => other.destroy());
    for (let index = 0; index < 4; index += 1) crowd.push(quiet.use(await talkTo(world.port)));
    expect(await crowd[0]?.over()).toBe("reset");
    expect(await crowd[1]?.over()).toBe("reset");
    expect(world.refused).toEqual(["TooManyUnnamed", "TooManyUnnamed"]);
    expect([crowd[2]?.socket.destroyed, crowd[3]?.socket.destroyed, other.destroyed]).toEqual([false, false, false]);
  });

  it("makes another one go for each that comes before the close of the first is reported", () => {
    const clients = new UnnamedClients(2);
    const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => ({ name, peer: "192.0.2.1" }) as unknown as UnnamedClient);
    if (!a || !b || !c || !d) throw new Error("there are four");
    expect([a, b, c, d].map((client) => clients.add(client))).toEqual([undefined, undefined, a, b]);
    expect([...clients]).toEqual([c, d]);
    expect([clients.remove(a), clients.remove(c), clients.size]).toEqual([false, true, 1]);
  });

  it("is reset at once beyond the number of connections, and when the process has no descriptor left", async () => {
    await using full = await given({ maxConnections: 1 });
    using _first = await talkTo(full.port);
    using second = await talkTo(full.port);
    expect([await second.over(), full.refused]).toEqual(["reset", ["TooManyConnections"]]);
    await using poor = await given({ hasRoom: () => false });
    using client = await talkTo(poor.port);
    expect([await client.over(), poor.refused]).toEqual(["reset", ["NoDescriptors"]]);
  });

  it("is closed when the replica stops accepting, if it has sent nothing", async () => {
    await using world = await given();
    using silent = await talkTo(world.port);
    using speaking = await talkTo(world.port);
    speaking.socket.write(gssRequest);
    await speaking.until("N");
    let isIdle = false;
    void world.front.idle().then(() => (isIdle = true));
    world.front.stopAccepting();
    expect(await silent.over()).toBe("ended");
    expect([speaking.socket.destroyed, isIdle]).toEqual([false, false]);
    await world.clock.advance(10_100);
    expect(await speaking.over()).toBe("reset");
    await eventually(() => isIdle);
  });

  it("is closed if it ends its side", async () => {
    await using world = await given();
    using client = await talkTo(world.port);
    client.socket.end(unfinished);
    expect(await client.over()).toBe("ended");
    expect(world.refused).toEqual([]);
  });
});

describe("a client that has named a sandbox that is not there", () => {
  const closed = aSandbox({ autoResume: { allowFrom: "Cluster" } });
  const autoResume = { allowFrom: "Any" } as const;
  const member = aSandbox({ autoResume }, { labels: { [warmPoolSandboxLabel]: "pool" } });
  const expired = aSandbox({ autoResume, shutdownTime: "1970-01-01T00:00:00Z" });
  const deleted = aSandbox({ autoResume }, { deletionTimestamp: "2026-01-01T00:00:00Z" });
  it.each([
    { what: "there is none of that name", sandbox: undefined, reason: "UnknownName" },
    { what: "there is one that is closed to it", sandbox: closed, reason: "NotAllowedByName" },
    { what: "it is an unclaimed member", sandbox: member, reason: "Unclaimed" },
    { what: "it has expired", sandbox: expired, reason: "SandboxExpired" },
    { what: "it is deleted", sandbox: deleted, reason: "SandboxDeleted" },
  ])("gets its alert after half a second, and a second to read it, if $what", async ({ sandbox, reason }) => {
    await using world = await given({ sandbox: () => sandbox });
    using client = await talkTo(world.port);
    client.socket.write(hello);
    await eventually(() => world.clock.pending > 1);
    await world.clock.advance(499);
    expect(client.received).toBe("");
    await world.clock.advance(1);
    await client.until(unknownName.toString("latin1"));
    expect(await client.over()).toBe("ended");
    expect([world.refused, client.received]).toEqual([[reason], unknownName.toString("latin1")]);
    await world.clock.advance(1_100);
    let isIdle = false;
    void world.front.idle().then(() => (isIdle = true));
    await eventually(() => isIdle);
  });

  it("is reset at the limit of time while the replica has not seen the cluster", async () => {
    await using world = await given();
    world.world.synced = false;
    using client = await talkTo(world.port);
    client.socket.write(hello);
    await eventually(() => world.clock.pending > 1);
    await world.clock.advance(9_999);
    expect(client.socket.destroyed).toBe(false);
    await world.clock.advance(1);
    expect(await client.over()).toBe("reset");
    expect(world.refused).toEqual(["ClusterUnseen"]);
  });

  it("may send no more than 64 KiB behind it", async () => {
    await using world = await given();
    using client = await talkTo(world.port);
    client.socket.write(hello);
    await eventually(() => world.clock.pending > 1);
    await world.clock.advance(500);
    await client.until(unknownName.toString("latin1"));
    await eventually(() => {
      client.socket.write(Buffer.alloc(16_384)); // a reset shows at the next write
      return client.socket.destroyed;
    });
  });
});
