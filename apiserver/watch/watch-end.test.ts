import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { expect, it } from "vitest";
import { configMapType } from "../../api/kinds/core.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { loopbackClusterIps } from "../kinds/builtin/cluster-ips.ts";
import { servedKinds } from "../kinds/served-kinds.ts";
import { Storage } from "../storage/storage.ts";
import { WatchHub } from "./watch-hub.ts";
import { WatchStream, wholeObject } from "./watch-stream.ts";

it("a watch that its own bookmark cuts off leaves no timer", async () => {
  const clock = new FakeClock();
  const storage = new Storage();
  const kind = servedKinds({ clusterIps: loopbackClusterIps(1) }).find(({ type }) => type === configMapType);
  if (!kind) throw new Error("ConfigMaps are not served");
  // Nothing is written before the bookmark, and then nothing may be unsent.
  const limits = { bufferedBytesMax: -1, bookmarkEveryMs: 60_000 };
  const request = {
    kind,
    namespace: "default",
    resourceVersion: storage.version,
    sendInitialEvents: false,
    timeoutSeconds: 3_600,
    bookmarks: true,
    matches: () => true,
    encoding: wholeObject,
  };
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  const stream = new WatchStream(response, request, { storage, clock, limits, wrote: () => {} });
  stream.start(new WatchHub(storage.version, { historyLength: 10, historyWeightMax: 1_000 }));
  expect(clock.pending).toBe(2);
  await clock.advance(60_000);
  // For the time to read the error.
  expect(clock.pending).toBe(1);
  await clock.advance(10_000);
  expect(clock.pending).toBe(0);
});
