import { get, type IncomingMessage } from "node:http";
import { expect, it } from "vitest";
import { podType } from "../../api/kinds/core.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { openMemoryApi } from "../../test/support/memory-api.ts";
import type { PodLogSource } from "../pod-log-source.ts";
import { logReadsMax, unreadLogMs } from "./pod-logs.ts";

const pod = { metadata: { name: "p", namespace: "default" }, spec: { containers: [{ name: "main", image: "none" }] } };
const log = "/api/v1/namespaces/default/pods/p/log";

it("logs are read by a bounded number of clients at a time", async () => {
  const followed: PodLogSource = {
    async *read(_request, signal) {
      yield "one\n";
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
  };
  await using api = await openMemoryApi({ podLogs: followed });
  await api.client.create(podType, pod);
  const leaving = new AbortController();
  const open = Array.from({ length: logReadsMax }, () => fetch(api.url + log, { signal: leaving.signal }));
  for (const response of await Promise.all(open)) expect(response.status).toBe(200);
  expect((await fetch(api.url + log)).status).toBe(429);
  leaving.abort();
  await expect
    .poll(async () => {
      const response = await fetch(api.url + log);
      await response.body?.cancel();
      return response.status;
    })
    .toBe(200);
});

it("a log is read no faster than its client reads, and a client that reads nothing is cut off", async () => {
  let chunks = 0;
  let isRead = true;
  const endless: PodLogSource = {
    async *read() {
      try {
        for (;;) {
          chunks += 1;
          yield "x".repeat(65_536);
        }
      } finally {
        isRead = false;
      }
    },
  };
  const clock = new FakeClock();
  await using api = await openMemoryApi({ podLogs: endless, clock });
  await api.client.create(podType, pod);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(api.url + log, { agent: false }, resolve).on("error", reject);
  });
  const closed = new Promise((resolve) => response.on("error", () => {}).once("close", () => resolve("closed")));
  response.pause();
  await expect.poll(() => clock.advance(unreadLogMs).then(() => isRead)).toBe(false);
  response.resume();
  expect(await closed).toBe("closed");
  expect(response.complete).toBe(false);
  expect(chunks).toBeLessThan(1_000);
});
