import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { expect, it } from "vitest";
import { configMapType } from "../../api/kinds/core.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { storedResource } from "../kind-registry.ts";
import { loopbackClusterIps } from "../kinds/builtin/cluster-ips.ts";
import { servedKinds } from "../kinds/served-kinds.ts";
import { Storage } from "../storage/storage.ts";
import { WatchHub } from "./watch-hub.ts";
import { wholeObject } from "./watch-stream.ts";
import { Watches } from "./watches.ts";

const namespace = "default";

/** Watches of ConfigMaps whose clients read nothing. */
function openWatches(unsentBytesMax: number) {
  const storage = new Storage();
  const hub = new WatchHub(storage.version, { historyLength: 100, historyWeightMax: 1_000_000 });
  storage.onCommit((commit) => hub.publish(commit));
  const kind = servedKinds({ clusterIps: loopbackClusterIps(1) }).find(({ type }) => type === configMapType);
  if (!kind) throw new Error("ConfigMaps are not served");
  const limits = {
    watchesMax: 10,
    watchesOfProgramMax: 6,
    bufferedBytesMax: 50_000,
    unsentBytesMax,
    bookmarkEveryMs: 60_000,
  };
  const watches = new Watches({ storage, hub, clock: new FakeClock(), limits });
  const request = {
    ...{ kind, namespace, sendInitialEvents: false, timeoutSeconds: 3_600, bookmarks: true },
    ...{ matches: () => true, encoding: wholeObject },
  };
  return {
    open(program = "kubectl/v1.36") {
      const message = new IncomingMessage(new Socket());
      message.headers["user-agent"] = program;
      const response = new ServerResponse(message);
      watches.start(response, { ...request, resourceVersion: storage.version });
      return response;
    },
    write(bytes: number) {
      const metadata = { name: "a", namespace, uid: "1", creationTimestamp: "2026-01-01T00:00:00Z" };
      storage.put(storedResource(kind), { metadata, data: { text: "x".repeat(bytes) } } as never);
    },
  };
}

it("all watches together have a budget for what is unsent, and the one furthest behind goes first", () => {
  const watches = openWatches(100_000);
  const behind = watches.open();
  watches.write(20_000);
  const others = [watches.open(), watches.open()];
  watches.write(10_000);
  watches.write(10_000);
  expect(behind.destroyed).toBe(false);
  watches.write(10_000);
  expect(behind.destroyed).toBe(true);
  watches.write(5_000);
  expect(others.filter(({ destroyed }) => destroyed)).toHaveLength(1);
});

it("one program cannot have all watches, and has its place again once one of them has ended", () => {
  const watches = openWatches(10_000);
  const [first] = Array.from({ length: 6 }, () => watches.open("busy"));
  expect(() => watches.open("busy")).toThrow("too many watches");
  for (let number = 0; number < 4; number += 1) watches.open("other");
  expect(() => watches.open("third")).toThrow("too many watches");
  first?.emit("close");
  expect(() => watches.open("busy")).not.toThrow();
});

it("a watch that was dropped gets no more events", () => {
  const watches = openWatches(10_000);
  const behind = watches.open();
  watches.write(11_000);
  expect(behind.destroyed).toBe(true);
  const length = behind.writableLength;
  watches.write(1_000);
  expect(behind.writableLength).toBe(length);
});
