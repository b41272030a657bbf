import { request } from "node:https";
import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createLogger, silentLogger } from "../../lib/log/log.ts";
import { FakeClock, systemClock } from "../../lib/time/clock.ts";
import { aBetaSandbox, anAlphaSandbox, core } from "../../test/support/builders/versions.ts";
import { eventually } from "../../test/support/eventually.ts";
import {
  callWebhook,
  certificateSecretOf,
  openWebhookApi,
  reviewOf,
  secretText,
  webhookHost,
  webhookService,
} from "../../test/support/labs/webhook-world.ts";
import { Converters } from "./converters.ts";
import { startWebhook } from "./start-webhook.ts";

const mebibyte = 1024 * 1024;
const goodReview = reviewOf([anAlphaSandbox({ replicas: 0 })], core.beta);
/** JSON of so many different keys, some 12 bytes each, whose parse takes long and cannot be interrupted. */
function bombOf(keys: number): Buffer {
  const bomb = bombs.get(keys) ?? newBomb(keys);
  bombs.set(keys, bomb);
  return bomb;
}

/** Written into one buffer: a text of each key, and of all of them, took seconds of these tests. */
function newBomb(keys: number): Buffer {
  const digits = String(keys).length;
  const item = `"k${"0".repeat(digits)}":0,`;
  const bomb = Buffer.alloc(1 + keys * item.length, item.slice(-1) + item.slice(0, -1));
  bomb.write("{");
  for (let key = 0; key < keys; key += 1) {
    for (let [left, at] = [key, 1 + key * item.length + 1 + digits]; left > 0; left = Math.floor(left / 10), at -= 1) {
      bomb[at] = 48 + (left % 10);
    }
  }
  bomb.write("}", bomb.length - 1);
  return bomb;
}
const bombs = new Map<number, Buffer>();
afterAll(() => bombs.clear());

async function openHostileWorld(log = silentLogger) {
  const api = await openWebhookApi();
  const registry = new Registry();
  const webhook = await startWebhook(
    { port: 0, service: webhookService, certificateFiles: undefined },
    { client: api.client, clock: systemClock, log, clusterDomain: "cluster.local", registry },
  );
  const ca = secretText(await certificateSecretOf(api.client), "ca.crt");
  return {
    registry,
    convert: (body: unknown = goodReview) => callWebhook({ port: webhook.port, ca, body }),
    /** A request of a stranger that has its own address. */
    strange: (localAddress: string) =>
      request({
        ...{ host: "127.0.0.1", port: webhook.port, ca, servername: webhookHost, localAddress },
        ...{ method: "POST", path: "/convert", agent: false },
      }).on("error", () => {}),
    async [Symbol.asyncDispose]() {
      await webhook[Symbol.asyncDispose]();
      await api[Symbol.asyncDispose]();
    },
  };
}

describe("a review that takes seconds to parse", () => {
  it("leaves the event loop of the controller and the reviews of others alone", async () => {
    await using world = await openHostileWorld();
    await world.convert();
    using parsed = watchParses();
    const bomb = world.strange("127.0.0.7");
    const answered = new Promise<number | undefined>((resolve) =>
      bomb.on("response", (met) => resolve(met.statusCode)),
    );
    let isAnswered = false;
    void answered.then(() => {
      isAnswered = true;
    });
    bomb.end(bombOf(250_000));
    const codes: number[] = [];
    while (!isAnswered) codes.push((await world.convert()).code);
    expect(await answered).toBe(400);
    expect(codes.length).toBeGreaterThan(1);
    expect(codes.every((code) => code === 200)).toBe(true);
    expect(parsed.longest()).toBeLessThan(bombOf(250_000).length);
  }, 30_000);

  it("is ended after its time, and the next one of the same peer is converted", async () => {
    const clock = new FakeClock();
    await using converters = new Converters(limits, clock);
    const taken = Promise.withResolvers<void>();
    const bombed = converters.convert({ ...review(bombOf(1_000_000)), taken: taken.resolve });
    const refused = expect(bombed).rejects.toMatchObject({
      code: 500,
      message: "the conversion took more than 1000 ms",
    });
    await taken.promise;
    await clock.advance(1_000);
    await refused;
    const { about } = await converters.convert(review(Buffer.from(JSON.stringify(goodReview))));
    expect(about.outcome).toBe("answered");
  });

  it("that is answered while its process is being ended leaves the next review another process", async () => {
    const clock = new FakeClock();
    await using converters = new Converters(limits, clock);
    const small = Buffer.from(JSON.stringify(goodReview));
    await converters.convert(review(small));
    let answered = false;
    // This thread stands still, so that the answer is in the pipe, and not read, when the time is up.
    for (let standMs = 100; !answered && standMs <= 3_200; standMs *= 2) {
      const taken = Promise.withResolvers<void>();
      const converting = converters.convert({ ...review(small), taken: taken.resolve });
      await taken.promise;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, standMs);
      const ended = clock.advance(1_000);
      answered = await converting.then(
        () => true,
        () => false,
      );
      const next = converters.convert(review(small));
      await ended;
      expect((await next).about.outcome).toBe("answered");
    }
    expect(answered).toBe(true);
  });

  it("is ended when it takes too much memory, and its sender alone gets an error", async () => {
    await using converters = new Converters(
      { ...limits, smallBytesMax: 65_536, heapMegabytesForLarge: 32 },
      new FakeClock(),
    );
    await expect(converters.convert(review(bombOf(800_000)))).rejects.toMatchObject({ code: 500 });
    const { about } = await converters.convert(review(Buffer.from(JSON.stringify(goodReview))));
    expect(about.outcome).toBe("answered");
  });

  const limits = {
    ...{
      smallBytesMax: 0,
      smallPartsMax: 2_048,
      smallNestingMax: 200,
      processesForSmall: 1,
      processesForLarge: 1,
      processesOfPeer: 1,
      forgivenPerSecond: 10,
      usedMsMax: 10_000,
      heapMegabytesForSmall: 512,
      heapMegabytesForLarge: 512,
    },
    ...{ waitingMax: 2, waitingOfPeerMax: 1, waitMs: 20_000, convertMs: 1_000 },
  };
  const review = (body: Buffer, peer = "a") => ({ body, peer, signal: new AbortController().signal, taken: () => {} });

  it("does not delay a small one, however many addresses send such reviews", async () => {
    const clock = new FakeClock();
    const both = { ...limits, smallBytesMax: 65_536, waitingMax: 9 };
    await using converters = new Converters(both, clock);
    const bomb = bombOf(1_000_000);
    const taken = Promise.withResolvers<void>();
    const bombs = ["b", "c", "d"].map((peer) =>
      converters.convert({ ...review(bomb, peer), taken: taken.resolve }).catch(() => undefined),
    );
    await taken.promise;
    const small = Buffer.from(JSON.stringify(goodReview));
    expect(await converters.convert(review(small))).toMatchObject({ about: { outcome: "answered" } });
    for (let at = 0; at < bombs.length; at += 1) await clock.advance(20_000);
    await Promise.all(bombs);
  });

  it.each([
    ["small", 200, "answered"],
    ["like a large one", 9_900, "waiting"],
  ])("is %s at a nesting of %i, while a large one is converted", async (_, nesting, became) => {
    const clock = new FakeClock();
    await using converters = new Converters({ ...limits, smallBytesMax: 65_536, waitingMax: 9 }, clock);
    const taken = Promise.withResolvers<void>();
    const bombed = converters.convert({ ...review(bombOf(1_000_000), "b"), taken: taken.resolve }).catch(() => {});
    await taken.promise;
    const text = JSON.stringify(goodReview).replace("{", `{"x":${"[".repeat(nesting - 1)}${"]".repeat(nesting - 1)},`);
    const converting = converters.convert(review(Buffer.from(text))).then(({ about }) => about.outcome);
    const small = converters.convert(review(Buffer.from(JSON.stringify(goodReview)), "c"));
    const first = await Promise.race([converting, small.then(() => "waiting")]);
    expect(first).toBe(became);
    await clock.advance(20_000);
    await Promise.allSettled([bombed, converting]);
  });

  it("takes turns with those of other addresses if it is small, however much its address has used", async () => {
    const clock = new FakeClock();
    const both = { ...limits, smallBytesMax: 65_536, waitingMax: 9 };
    await using converters = new Converters(both, clock);
    const order: string[] = [];
    const small = Buffer.from(JSON.stringify(goodReview));
    const convert = (peer: string) =>
      converters.convert({ ...review(small, peer), taken: () => void order.push(peer) });
    const first = convert("api-server");
    await clock.advance(600);
    await first;
    await Promise.all(["b", "api-server", "c"].map(convert));
    expect(order).toEqual(["api-server", "b", "api-server", "c"]);
  });

  it("of an address that has used more time comes after those of others", async () => {
    const clock = new FakeClock();
    await using converters = new Converters({ ...limits, waitingMax: 9 }, clock);
    const order: string[] = [];
    const convert = (body: Buffer, peer: string) =>
      converters.convert({ ...review(body, peer), taken: () => void order.push(peer) }).catch(() => undefined);
    const small = Buffer.from(JSON.stringify(goodReview));
    const first = convert(small, "b");
    await clock.advance(600);
    await first;
    const bombed = convert(bombOf(1_000_000), "c");
    const [later, sooner] = [convert(small, "b"), convert(small, "a")];
    await eventually(() => order.length === 2);
    await clock.advance(1_000);
    await Promise.all([bombed, later, sooner]);
    expect(order).toEqual(["b", "c", "a", "b"]);
  });

  it("lets a bounded number of others wait, for a bounded time", async () => {
    const clock = new FakeClock();
    await using converters = new Converters({ ...limits, waitMs: 500 }, clock);
    const taken = Promise.withResolvers<void>();
    const bombed = converters.convert({ ...review(bombOf(1_000_000)), taken: taken.resolve });
    const ended = expect(bombed).rejects.toMatchObject({ code: 500 });
    await taken.promise;
    const small = () => Buffer.from(JSON.stringify(goodReview));
    const late = expect(converters.convert(review(small()))).rejects.toMatchObject({ code: 503 });
    await expect(converters.convert(review(small()))).rejects.toThrow("too many reviews wait");
    const leaving = new AbortController();
    const left = expect(converters.convert({ ...review(small(), "b"), signal: leaving.signal })).rejects.toThrow(
      "left",
    );
    leaving.abort(new Error("left"));
    await left;
    await clock.advance(500);
    await late;
    await clock.advance(500);
    await ended;
  });
});

describe("bodies that are never finished", () => {
  it("do not keep the API server from the webhook", async () => {
    await using world = await openHostileWorld();
    const held = [1, 2].map(() => {
      const stranger = world.strange("127.0.0.7");
      for (let sent = 0; sent < 63; sent += 1) stranger.write(Buffer.alloc(mebibyte, " "));
      stranger.write(Buffer.alloc(mebibyte - 1, " "));
      return stranger;
    });
    await Promise.all(held.map((stranger) => new Promise<void>((resolve) => stranger.write(" ", () => resolve()))));
    for (let at = 0; at < 20; at += 1) expect((await world.convert()).code).toBe(200);
    for (const stranger of held) stranger.destroy();
  }, 30_000);
});

describe("an object that cannot be converted", () => {
  const lines: string[] = [];
  let world: Awaited<ReturnType<typeof openHostileWorld>>;
  beforeAll(async () => {
    world = await openHostileWorld(createLogger("test", "info", { write: (line: string) => void lines.push(line) }));
  });
  afterAll(() => world[Symbol.asyncDispose]());

  it("is named in the log, and counted", async () => {
    const broken = { ...aBetaSandbox(), metadata: { name: "broken", namespace: "lab" }, spec: "none" };
    expect(JSON.parse((await world.convert(reviewOf([broken], core.alpha))).text).response.result.status).toBe(
      "Failed",
    );
    expect(lines.join("")).toContain("Sandbox lab/broken: spec is not an object");
    expect(await world.registry.metrics()).toContain("rouse_conversion_failures_total 1");
  });

  it("is none that is nested as deep as an API server reads", async () => {
    const nested = `${"[".repeat(9_900)}${"]".repeat(9_900)}`;
    const body = JSON.stringify(reviewOf([{ ...aBetaSandbox(), spec: { x: "?" } }], core.alpha)).replace('"?"', nested);
    const { text } = await world.convert(body);
    expect(text).toContain('"status":"Success"');
    expect(text).toContain(nested);
  });

  it("is one that is nested deeper than that", async () => {
    const body = `{"x":${"[".repeat(10_000)}${"]".repeat(10_000)}}`;
    expect(await world.convert(body)).toMatchObject({ code: 413 });
  });
});

/** What this process parses itself, and not in a process for conversions: a parse occupies its event loop. */
function watchParses() {
  const parse = vi.spyOn(JSON, "parse");
  const longest = () => Math.max(0, ...parse.mock.calls.map(([text]) => String(text).length));
  return { longest, [Symbol.dispose]: () => parse.mockRestore() };
}
