import { expect, it } from "vitest";
import type { KubeClient, Selection, WatchOptions } from "../../../kube/client/client.ts";
import { ApiError } from "../../../kube/client/errors.ts";
import { silentLogger } from "../../../lib/log/log.ts";
import { FakeClock, systemClock } from "../../../lib/time/clock.ts";
import { cutOffAfterMs, startWatching } from "./start-watching.ts";

it("an API server that refuses the selector is listed without it, also after an error of the network", async () => {
  const asked: (string | undefined)[] = [];
  const client = {
    async list({ plural }: { readonly plural: string }, selection: Selection = {}) {
      if (plural !== "memoryimages") return { items: [], metadata: { resourceVersion: "1" } };
      asked.push(selection.fieldSelector);
      if (asked.length === 1) throw new Error("connect ECONNREFUSED");
      if (selection.fieldSelector)
        throw new ApiError(400, {
          apiVersion: "v1",
          kind: "Status",
          message: "field label not supported: spec.nodeName",
        });
      return { items: [], metadata: { resourceVersion: "1" } };
    },
    async *watch(_type: unknown, _options: unknown, signal: AbortSignal) {
      yield* [];
      await systemClock.sleep(60_000, signal);
    },
  } as unknown as KubeClient;
  const stop = new AbortController();
  const parts = { client, clock: systemClock, log: silentLogger, nodeName: "n1" };
  await using watching = await startWatching(parts, stop.signal);
  await watching.synced;
  expect(asked).toEqual(["spec.nodeName=n1", "spec.nodeName=n1", undefined]);
  stop.abort();
});

it("an agent counts as cut off once lists have failed for 30 s, until one succeeds", async () => {
  const clock = new FakeClock();
  const server = { isAway: false };
  const client = {
    async list() {
      if (server.isAway) throw new Error("connect ETIMEDOUT");
      return { items: [], metadata: { resourceVersion: "1" } };
    },
    async *watch(_type: unknown, { onOpen }: WatchOptions, signal: AbortSignal) {
      yield* [];
      if (server.isAway) throw new Error("connect ETIMEDOUT");
      onOpen?.();
      await clock.sleep(20_000, signal);
      if (server.isAway) throw new Error("read ECONNRESET");
    },
  } as unknown as KubeClient;
  const stop = new AbortController();
  await using watching = await startWatching({ client, clock, log: silentLogger, nodeName: "n1" }, stop.signal);
  await watching.synced;
  const pass = async (ms: number) => {
    for (let passedMs = 0; passedMs < ms; passedMs += 500) await clock.advance(500);
  };
  await pass(60_000);
  expect(watching.isCutOff()).toBe(false);
  server.isAway = true;
  await pass(cutOffAfterMs - 1_000);
  expect(watching.isCutOff()).toBe(false);
  await pass(21_000);
  expect(watching.isCutOff()).toBe(true);
  server.isAway = false;
  await pass(10_000);
  expect(watching.isCutOff()).toBe(false);
  stop.abort();
});
