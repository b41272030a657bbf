import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../lib/time/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { dialled } from "../../../test/support/proxy-path.ts";
import { BufferLoans } from "../../socket/read-place.ts";
import { Sweep } from "../../sweep.ts";
import type { Exchange } from "./exchange.ts";
import { HeadBudget } from "./head-budget.ts";
import { startHttp1Front } from "./http1-front.ts";

const get = "GET / HTTP/1.1\r\nHost: nova\r\n\r\n";

/** A front that answers each request at once, and counts requests by turn of the event loop. */
async function openAnswering(status = 401) {
  await using opened = new AsyncDisposableStack();
  const served: Exchange[] = [];
  const perTurn: number[] = [];
  const onServed: (() => void)[] = [];
  let thisTurn = 0;
  const count = () => {
    if (thisTurn === 0) {
      setImmediate(() => {
        perTurn.push(thisTurn);
        thisTurn = 0;
      });
    }
    thisTurn += 1;
  };
  const serve = async (exchange: Exchange) => {
    count();
    served.push(exchange);
    onServed.shift()?.();
    exchange.answer({ status, headers: [], body: "" });
  };
  const options = {
    ...{ host: "127.0.0.1", port: 0, headersTimeoutMs: 60_000, keepAliveTimeoutMs: 60_000 },
    ...{ streamIdleMs: 0, maxHeaderBytes: 65_536, maxConnections: 1_000 },
  };
  const parts = {
    ...{ clock: systemClock, sweep: opened.use(new Sweep(systemClock)), loans: new BufferLoans(64) },
    ...{ heads: new HeadBudget(), serve },
    events: { connected() {}, disconnected() {}, dropped() {}, refused() {}, handshakeFailed() {}, overheadCut() {} },
  };
  const front = opened.use(await startHttp1Front(options, parts));
  const clients: Socket[] = [];
  opened.defer(() => clients.forEach((client) => void client.destroy()));
  const closing = opened.move();
  return {
    ...{ front, served, perTurn, onServed },
    async client(): Promise<Socket> {
      const client = await dialled(front.address.port);
      clients.push(client);
      return client.resume();
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

describe("requests of one client that arrive at once", () => {
  it("are begun one in each turn of the event loop", async () => {
    await using front = await openAnswering();
    (await front.client()).write(get.repeat(1_000));
    await eventually(() => front.served.length === 1_000);
    expect(Math.max(...front.perTurn)).toBe(1);
  });

  it("do not come before a request of another client", async () => {
    await using front = await openAnswering();
    const [many, other] = [await front.client(), await front.client()];
    front.onServed.push(() => void other.write(get));
    many.write(get.repeat(500));
    await eventually(() => front.served.length === 501);
    const first = front.served[0]?.connection;
    expect(front.served.findIndex(({ connection }) => connection !== first)).toBeLessThan(400);
  });

  it("are all answered before a front that stops is idle", async () => {
    await using front = await openAnswering();
    const stopped = Promise.withResolvers<number>();
    front.onServed.push(() => {
      front.front.stopAccepting();
      void front.front.idle().then(() => stopped.resolve(front.served.length));
    });
    (await front.client()).write(get.repeat(10));
    expect(await stopped.promise).toBe(10);
  });
});

it("an answer of the activator before the whole request says that the connection closes", async () => {
  await using front = await openAnswering(200);
  const client = await front.client();
  let heard = "";
  client.on("data", (bytes: Buffer) => (heard += bytes.toString("latin1")));
  client.write("POST / HTTP/1.1\r\nHost: nova\r\nContent-Length: 9\r\n\r\nx");
  await eventually(() => heard !== "");
  expect(heard).toMatch(/^HTTP\/1.1 200 OK\r\n.*Connection: close\r\n/s);
});
