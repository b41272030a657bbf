import { Gauge, Registry } from "prom-client";
import { expect, it } from "vitest";
import { silentLogger } from "../../lib/log/log.ts";
import { startPageServer } from "../../lib/net/page-server.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { opsPages } from "./ops-pages.ts";

it("the metrics of an activator are collected once for concurrent scrapes", async () => {
  const registry = new Registry();
  let collected = 0;
  new Gauge({
    ...{ name: "collections", help: "How often this was collected.", registers: [registry] },
    collect() {
      collected += 1;
      this.set(collected);
    },
  });
  const pages = opsPages(registry, () => true, new FakeClock());
  const address = { host: "127.0.0.1", port: 0 };
  await using health = await startPageServer({ name: "health", address, pages, log: silentLogger });
  await using metrics = await startPageServer({ name: "metrics", address, pages, log: silentLogger });
  const scrape = async (url: string) => (await fetch(`${url}/metrics`)).text();
  const urls = Array.from({ length: 8 }, () => [health.url, metrics.url]).flat();
  const scraped = await Promise.all(urls.map(scrape));
  expect(scraped.filter((page) => page.includes("collections 1\n"))).toHaveLength(16);
});
