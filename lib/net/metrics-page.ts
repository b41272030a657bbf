import { setImmediate } from "node:timers/promises";
import type { Registry } from "prom-client";
import { type Clock, systemClock } from "../time/clock.ts";
import type { Page } from "./page-server.ts";

/** Milliseconds for which a page is cached. */
const freshMs = 1_000;
/** A page is cached for this multiple of its cost, so that scrapes take less than a tenth of the program's time. */
const restPerCost = 10;

/**
 * The page of `/metrics`. One is generated at a time, at most once a second, and shared by all clients: generating it
 * takes time of the thread that serves requests too, and any client that reaches the port may request it. Rejects with
 * the error of a metric's collection.
 */
export function metricsPage(registry: Registry, clock: Clock = systemClock): () => Promise<Page> {
  let page: Promise<Page> | undefined;
  let freshUntilMs = Number.POSITIVE_INFINITY;
  const make = async (): Promise<Page> => {
    const cost = { ms: 0 };
    try {
      return { contentType: registry.contentType, body: await textOf(registry, clock, cost) };
    } finally {
      freshUntilMs = clock.ticksMs() + Math.max(freshMs, restPerCost * cost.ms);
    }
  };
  return () => {
    if (page && clock.ticksMs() < freshUntilMs) return page;
    freshUntilMs = Number.POSITIVE_INFINITY;
    page = make();
    return page;
  };
}

/** Like `registry.metrics()`, in bytes. Requests are served between one metric and the next. */
async function textOf(registry: Registry, clock: Clock, cost: { ms: number }): Promise<Buffer> {
  const texts: string[] = [];
  for (const { name } of registry.getMetricsAsArray()) {
    const beganMs = clock.ticksMs();
    texts.push(await registry.getSingleMetricAsString(name));
    cost.ms += clock.ticksMs() - beganMs;
    await setImmediate();
  }
  return Buffer.from(`${texts.join("\n\n")}\n`);
}
