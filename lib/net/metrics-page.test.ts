import { setImmediate } from "node:timers/promises";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { silentLogger } from "../log/log.ts";
import { FakeClock } from "../time/clock.ts";
import { metricsPage } from "./metrics-page.ts";
import { startPageServer } from "./page-server.ts";

/** Serves the metrics of a registry that counts its collections; each takes `costMs`. */
async function serve({ costMs = 0 } = {}) {
  const clock = new FakeClock();
  const registry = new Registry();
  let collected = 0;
  new Gauge({
    name: "collections",
    help: "How often this was collected.",
    registers: [registry],
    async collect() {
      collected += 1;
      this.set(collected);
      await clock.advance(costMs);
    },
  });
  const pages = { "/metrics": metricsPage(registry, clock) };
  const address = { host: "127.0.0.1", port: 0 };
  const server = await startPageServer({ name: "the test", address, pages, log: silentLogger });
  return {
    clock,
    collected: () => collected,
    scrape: async () => (await (await fetch(`${server.url}/metrics`)).text()).match(/^collections (\d+)$/m)?.[1],
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

describe("the page of metrics", () => {
  it("is generated once for concurrent requests", async () => {
    await using world = await serve();
    expect(await Promise.all(Array.from({ length: 32 }, world.scrape))).toEqual(Array(32).fill("1"));
    expect(world.collected()).toBe(1);
  });

  it("is generated at most once a second", async () => {
    await using world = await serve();
    await world.scrape();
    await world.clock.advance(999);
    expect(await world.scrape()).toBe("1");
    await world.clock.advance(1);
    expect(await world.scrape()).toBe("2");
  });

  it("rests for ten times as long as it took to make", async () => {
    await using world = await serve({ costMs: 500 });
    await world.scrape();
    await world.clock.advance(4_999);
    expect(await world.scrape()).toBe("1");
    await world.clock.advance(1);
    expect(await world.scrape()).toBe("2");
  });

  it("fails for all that share it, and is generated again a second later", async () => {
    const clock = new FakeClock();
    const registry = new Registry();
    let fails = true;
    new Gauge({
      name: "fragile",
      help: "It may fail.",
      registers: [registry],
      collect() {
        if (fails) throw new Error("no value");
      },
    });
    const page = metricsPage(registry, clock);
    await expect(Promise.all([page(), page()])).rejects.toThrow("no value");
    fails = false;
    await expect(page()).rejects.toThrow("no value");
    await clock.advance(1_000);
    expect(String((await page()).body)).toContain("fragile 0");
  });

  it("has the text of the registry, and lets others work between two metrics", async () => {
    const registry = new Registry();
    let turns = 0;
    const seen: number[] = [];
    for (const name of ["a", "b", "c"]) {
      new Gauge({ name, help: `${name}.`, registers: [registry], collect: () => void seen.push(turns) });
    }
    new Counter({ name: "d_total", help: "d.", labelNames: ["e"], registers: [registry] }).inc({ e: "f" });
    new Histogram({ name: "g_seconds", help: "g.", registers: [registry] }).observe(1);
    const page = metricsPage(registry)();
    for (; turns < 3; turns += 1) await setImmediate();
    expect(String((await page).body)).toBe(await registry.metrics());
    expect(seen.slice(0, 3)).toEqual([0, 1, 2]);
  });
});
