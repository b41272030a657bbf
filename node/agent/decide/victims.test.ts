import { describe, expect, it, vi } from "vitest";
import { usedByAnnotation } from "../../../api/rules/keys.ts";
import { aPodOf, aSandbox } from "../../../test/support/builders/builders.ts";
import { anImage } from "../../../test/support/builders/memory-images.ts";
import { imageOf } from "../../../test/support/labs/node-lab.ts";
import { chooseUnused } from "../evict.ts";
import type { OnDisk } from "../store/image-store.ts";
import type { Observed, StoreLimits } from "./observed.ts";
import { wantedOf } from "./refusal.ts";
import { chooseVictims, type Evictable } from "./victims.ts";

const gigabyte = 2 ** 30;
const besidesMemoryBytes = 2 ** 24;

/** An image of a gigabyte that is asleep. */
function asleep(namespace: string, index: number): Evictable {
  const { metadata, spec } = imageOf({ nodeName: "node-1", namespace: "default" }, `pod-${index}`);
  const stored = {
    uid: "u",
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z",
    name: `g${index}`,
    namespace,
  };
  return { memoryImage: { metadata: { ...metadata, ...stored }, spec }, text: `g${index}`, bytes: gigabyte };
}

const disk: StoreLimits = { maxStoreBytes: 0, minFreeBytes: 15 * gigabyte, maxNamespacePercent: 100 };

interface Node {
  readonly namespace?: string;
  readonly limits?: StoreLimits;
  /** What other files take of what must stay free. */
  readonly filled?: number;
  readonly own?: number;
  readonly untaken?: number;
}

/** How many of 20 images of a gigabyte in the namespace `shop` go for a capture; undefined: none, and the capture fails. */
function countVictims({ namespace = "other", limits = disk, filled = 0, own = 0.1, untaken = 0 }: Node) {
  const bytes = (gigabytes: number) => Math.round(gigabytes * gigabyte);
  const evictable = Array.from({ length: 20 }, (_, index) => asleep("shop", index));
  const observed = {
    key: { namespace, pod: "guest", image: "g" },
    ...{ evictable, limits, memoryBytes: bytes(own) - besidesMemoryBytes },
    room: {
      usedBytes: bytes(20),
      freeBytes: limits.minFreeBytes - bytes(filled),
      byNamespace: new Map([["shop", bytes(20)]]),
      untakenBytes: bytes(untaken),
    },
  };
  return chooseVictims(evictable, wantedOf(observed as unknown as Observed))?.length;
}

describe("what goes for a capture on a disk", () => {
  it("is as much as the capture takes, counted up to whole images", () => {
    expect(countVictims({})).toBe(1);
    expect(countVictims({ own: 2.5 })).toBe(3);
    expect(countVictims({ filled: -5 })).toBe(0);
  });

  it.each([1, 10, 15, 19, 19.6])("is nothing if other files take %s GB that were free", (filled) => {
    expect(countVictims({ filled })).toBeUndefined();
    expect(countVictims({ filled, namespace: "shop" }), "nor of its own namespace").toBeUndefined();
  });

  it("is less by what went for others and is not taken yet", () => {
    expect(countVictims({ untaken: 0.9 })).toBeUndefined();
    expect(countVictims({ own: 1, untaken: 0.9 })).toBe(1);
    expect(countVictims({ namespace: "shop", untaken: 0.9 }), "its own images").toBe(1);
  });

  it("is no more of its own namespace if other files have made the share smaller", () => {
    const limits = { ...disk, maxNamespacePercent: 50 };
    expect(countVictims({ namespace: "shop", limits, filled: -1 })).toBeUndefined();
    expect(countVictims({ namespace: "shop", limits, filled: -20 })).toBe(1);
  });
});

it("a limit of the store that was lowered makes as many images go as are beyond it", () => {
  const limits = { maxStoreBytes: 10 * gigabyte, minFreeBytes: 0, maxNamespacePercent: 100 };
  expect(countVictims({ limits, filled: -50, untaken: 0.9 })).toBe(11);
  const shared = { ...limits, maxNamespacePercent: 50 };
  expect(countVictims({ limits: shared, filled: -50, namespace: "shop" })).toBe(16);
});

describe("what goes where a namespace has more than its share", () => {
  /** For one more image of 1 GB beside these, the oldest first, in a store of 6 GB with a share of 3 GB each. */
  function chooseFor(namespace: string, ...all: readonly (readonly [namespace: string, gigabytes: number])[]) {
    const evictable = all.map(([of, gigabytes], index) => ({ ...asleep(of, index), bytes: gigabytes * gigabyte }));
    const byNamespace = new Map<string, number>();
    for (const { bytes, memoryImage } of evictable) {
      const of = memoryImage.metadata.namespace ?? "";
      byNamespace.set(of, (byNamespace.get(of) ?? 0) + bytes);
    }
    const observed = {
      key: { namespace, pod: "guest", image: "g" },
      ...{ evictable, limits: { maxStoreBytes: 6 * gigabyte, minFreeBytes: 0, maxNamespacePercent: 50 } },
      memoryBytes: gigabyte - besidesMemoryBytes,
      room: { usedBytes: [...byNamespace.values()].reduce((sum, bytes) => sum + bytes, 0), byNamespace },
    };
    const room = { ...observed.room, freeBytes: 100 * gigabyte, untakenBytes: 0 };
    const chosen = chooseVictims(evictable, wantedOf({ ...observed, room } as unknown as Observed));
    return chosen?.map(({ memoryImage }) => `${memoryImage.metadata.namespace} ${memoryImage.metadata.name}`);
  }

  it("is of that namespace, also if the images of others are older", () => {
    expect(chooseFor("d", ["a", 1], ["b", 1], ["c", 1], ["mallory", 5])).toEqual(["mallory g3"]);
  });

  it("is of that namespace only until it has its share, and then the oldest of all", () => {
    const images = [
      ["a", 1],
      ["mallory", 1],
      ["b", 2],
      ["mallory", 1],
      ["mallory", 2],
    ] as const;
    expect(chooseFor("d", ...images)).toEqual(["mallory g1", "a g0"]);
  });
});

it("one capture asks for 50 promised Pods at most, and images without a promise go all the same", async () => {
  const imageOf = (index: number, isPromised: boolean): Evictable => {
    const promise = isPromised ? { annotations: { [usedByAnnotation]: `next-${index}` } } : {};
    const memoryImage = anImage({ metadata: { name: `g${index}`, ...promise } });
    return { memoryImage, text: `default/p${index}/g${index}`, bytes: 10 };
  };
  const evictable = [...Array.from({ length: 500 }, (_, index) => imageOf(index, true)), imageOf(500, false)];
  const ask = async (readPod: Parameters<typeof chooseUnused>[2]["readPod"]) => {
    const asked = vi.fn(readPod);
    const store = { read: async () => ({ image: {}, marks: [] }) as unknown as OnDisk };
    const most = { bytes: 10, ofOthersBytes: 10, namespaceBytes: 10 };
    const wanted = { namespace: "alone", bytes: 10, namespaceBytes: 0, shareBytes: 1e9, byNamespace: new Map(), most };
    const victims = await chooseUnused(evictable, wanted, { store, readPod: asked });
    return { asked: asked.mock.calls.length, victims: victims?.map(({ text }) => text) };
  };
  const last = ["default/p500/g500"];
  let next = 0;
  const there = async () => aPodOf(aSandbox(), { uid: `next-${next++}` });
  expect(await ask(there)).toEqual({ asked: 50, victims: last });
  const silent = async () => Promise.reject(new Error("timed out"));
  expect(await ask(silent)).toEqual({ asked: 1, victims: last });
});
