import { describe, expect, it } from "vitest";
import {
  type EndpointSlice,
  formatTcpFront,
  type TcpFront,
  tcpFrontPorts,
  tcpFrontPortsPerNamespaceMax,
  tcpFrontSliceName,
} from "../../../api/between-programs/tcp-front.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { tcpFrontAnnotation } from "../../../api/rules/keys.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { noon } from "../../../test/support/builders/builders.ts";
import { cpuMs } from "../../../test/support/cpu-time.ts";
import { PortLedger } from "./port-ledger.ts";

const quarantineMs = 600_000;
const limits = { perSandbox: 32, perNamespace: 5_500 };
const free = (ledger: PortLedger, missing: number) => ledger.grant("lab/new", { inUse: 0, missing }).ports;
const { first, last } = tcpFrontPorts;

function aLedger(random = 0) {
  const clock = new FakeClock(noon);
  return { clock, ledger: new PortLedger({ clock, quarantineMs, limits, random: () => random }) };
}

const port = (activatorPort: number) => ({ name: "p", containerPort: 80, activatorPort });

/** The key of the slice of a sandbox. */
const keyOf = (sandboxUid: string) => `lab/${tcpFrontSliceName(sandboxUid)}`;

function aSlice(
  sandboxUid: string,
  said: Partial<TcpFront>,
  { creationTimestamp = noon, namespace = "lab" } = {},
): Stored<EndpointSlice> {
  const front = { sandboxName: "nova", sandboxUid, ports: [], ...said };
  const annotations = { [tcpFrontAnnotation]: formatTcpFront(front) };
  const name = tcpFrontSliceName(sandboxUid);
  const metadata = { namespace, name, uid: sandboxUid, resourceVersion: "1", creationTimestamp, annotations };
  return { metadata, addressType: "IPv4" };
}

describe("the ports of activators", () => {
  it("are given one after the other, round the range", () => {
    const { ledger } = aLedger(0.999_99);
    expect(free(ledger, 2)).toEqual([last, first]);
    ledger.gave(first);
    expect(free(ledger, 1)).toEqual([first + 1]);
  });

  it("are not free while a slice names them, a write is in progress, or they are quarantined", () => {
    const { ledger } = aLedger();
    ledger.note(aSlice("a", { ports: [port(first)], freedPorts: [{ activatorPort: first + 2, freedAt: noon }] }));
    ledger.reserve(keyOf("b"), [port(first + 1)]);
    expect(free(ledger, 1)).toEqual([first + 3]);
    expect(ledger.count()).toEqual({ allocated: 1, quarantined: 1 });
  });

  it("are reserved for one slice only", () => {
    const { ledger } = aLedger();
    ledger.note(aSlice("a", { ports: [port(first)] }));
    ledger.note(aSlice("b", { ports: [port(first + 2)] }));
    ledger.gone(keyOf("b"));
    expect(ledger.reserve(keyOf("c"), [port(first + 1)])).toBe(true);
    for (const [what, taken] of Object.entries({ held: first, reserved: first + 1, resting: first + 2 })) {
      expect([what, ledger.reserve(keyOf("d"), [port(first + 3), port(taken)])]).toEqual([what, false]);
    }
    expect(ledger.reservedFor(keyOf("d"))).toEqual([]);
    expect(ledger.reserve(keyOf("b"), [port(first + 2)])).toBe(true);
    expect(free(ledger, 1)).toEqual([first + 3]);
  });

  it("rest when they were reserved and are in no slice: a write may have been made without an answer", async () => {
    const { clock, ledger } = aLedger();
    ledger.reserve(keyOf("a"), [port(first), port(first + 1)]);
    ledger.reserve(keyOf("a"), [port(first + 1)]);
    expect(free(ledger, 1)).toEqual([first + 2]);
    ledger.release(keyOf("a"));
    expect(free(ledger, 1)).toEqual([first + 2]);
    expect(ledger.count()).toEqual({ allocated: 0, quarantined: 2 });
    await clock.advance(quarantineMs);
    expect(ledger.count()).toEqual({ allocated: 0, quarantined: 0 });
    expect(free(ledger, 2)).toEqual([first, first + 1]);
  });

  it("rest when their sandbox goes while its slice is made for another family of addresses", () => {
    const { ledger } = aLedger();
    ledger.note(aSlice("a", { ports: [port(first)] }));
    ledger.reserve(keyOf("a"), [port(first)]);
    ledger.gone(keyOf("a"));
    ledger.release(keyOf("a"));
    expect(free(ledger, 1)).toEqual([first + 1]);
  });

  it("rest when their record goes too early, and not when its time was over", async () => {
    const { clock, ledger } = aLedger();
    ledger.note(aSlice("a", { ports: [port(first)] }));
    ledger.note(aSlice("b", { ports: [port(first + 1)], freedAt: "2026-01-01T11:50:00Z" }));
    ledger.gone(keyOf("a"));
    ledger.gone(keyOf("b"));
    expect(free(ledger, 1)).toEqual([first + 1]);
    expect(ledger.count()).toEqual({ allocated: 0, quarantined: 1 });
    await clock.advance(quarantineMs);
    expect(ledger.count()).toEqual({ allocated: 0, quarantined: 0 });
    expect(free(ledger, 1)).toEqual([first]);
  });

  it("rest when another writer takes them out of their record, and are the slice's if it names them again", async () => {
    const { clock, ledger } = aLedger();
    ledger.note(aSlice("a", { ports: [port(first), port(first + 1)] }));
    ledger.note(aSlice("a", { ports: [port(first + 1)] }));
    expect([free(ledger, 1), ledger.count()]).toEqual([[first + 2], { allocated: 1, quarantined: 1 }]);
    ledger.note(aSlice("b", { ports: [port(first)] }));
    expect(ledger.foreign(keyOf("b"))).toEqual([first]);
    ledger.note(aSlice("a", { ports: [port(first), port(first + 1)] }));
    expect(ledger.count()).toEqual({ allocated: 2, quarantined: 0 });

    ledger.note(aSlice("a", {}));
    await clock.advance(quarantineMs);
    expect(free(ledger, 2)).toEqual([first, first + 1]);
  });

  it("rest for their time after their record goes, though the wall clock jumps ahead meanwhile", async () => {
    const { clock, ledger } = aLedger();
    const freedPorts = [{ activatorPort: first + 1, freedAt: noon }];
    ledger.note(aSlice("a", { ports: [port(first)], freedAt: noon }));
    ledger.note(aSlice("b", { freedPorts }));
    clock.jumpWall(2 * quarantineMs);
    for (const name of ["a", "b"]) ledger.gone(keyOf(name));
    expect(free(ledger, 1)).toEqual([first + 2]);
    await clock.advance(quarantineMs);
    expect(free(ledger, 2)).toEqual([first, first + 1]);
  });

  it("are the older slice's where former leaders gave two the same", () => {
    const { ledger } = aLedger();
    const young = aSlice("a", { ports: [port(first), port(first + 1)] }, { creationTimestamp: "2026-01-01T12:00:01Z" });
    ledger.takeOver([young, aSlice("b", { ports: [port(first)] })]);
    expect(ledger.contested(keyOf("a"))).toEqual(new Set([first]));
    expect(ledger.contested(keyOf("b"))).toEqual(new Set());
    expect(ledger.count()).toEqual({ allocated: 2, quarantined: 0 });
  });

  it("stay a slice's when an older slice names them later, and rest when it goes", async () => {
    const { clock, ledger } = aLedger();
    const older = aSlice("old", { ports: [port(first + 5)] });
    ledger.takeOver([older, aSlice("young", { ports: [port(first)] }, { creationTimestamp: "2026-01-01T12:00:01Z" })]);
    const freedPorts = [{ activatorPort: first + 1, freedAt: noon }];
    ledger.reserve(keyOf("written"), [port(first + 1)]);
    ledger.note(aSlice("old", { ports: [port(first + 5), port(first)], freedPorts }));
    expect(ledger.foreign(keyOf("old"))).toEqual([first, first + 1]);
    expect(ledger.contested(keyOf("young"))).toEqual(new Set());
    ledger.gone(keyOf("young"));
    ledger.note(aSlice("old", { ports: [port(first)] }));
    expect(ledger.foreign(keyOf("old"))).toEqual([first]);
    expect(ledger.grant(keyOf("new"), { inUse: 0, missing: 1 }).ports).toEqual([first + 2]);
    await clock.advance(quarantineMs);
    expect(ledger.grant(keyOf("new"), { inUse: 0, missing: 1 }).ports).toEqual([first]);
  });

  it("are kept from others by a slice only as far as a sandbox and a namespace may have them", () => {
    const { ledger } = aLedger();
    const many = (from: number, count: number) => Array.from({ length: count }, (_, at) => port(first + from + at));
    ledger.note(aSlice("a", { ports: many(0, 100) }));
    expect(ledger.foreign(keyOf("a"))).toHaveLength(100 - 2 * limits.perSandbox);
    for (let at = 1; at < 200; at += 1) ledger.note(aSlice(`a${at}`, { ports: many(100 * at, 64) }));
    expect(ledger.count()).toEqual({ allocated: limits.perNamespace, quarantined: 0 });
    ledger.note(aSlice("of-another", { ports: [port(9_999), port(first + 20_000)] }, { namespace: "other" }));
    expect(ledger.foreign(`other/${tcpFrontSliceName("of-another")}`)).toEqual([9_999]);
    for (let at = 0; at < 200; at += 1) ledger.gone(keyOf(`a${at === 0 ? "" : at}`));
    ledger.note(aSlice("b", { ports: [port(last)] }));
    expect(ledger.foreign(keyOf("b"))).toEqual([last]);
    expect(ledger.count()).toEqual({ allocated: 1, quarantined: limits.perNamespace });
  });

  it("are given up, and rest, when an activator refuses them", async () => {
    const { clock, ledger } = aLedger();
    ledger.note(aSlice("a", { ports: [port(first), port(first + 1)] }));
    ledger.refused([first]);
    expect(ledger.contested(keyOf("a"))).toEqual(new Set([first]));
    ledger.note(aSlice("a", { ports: [port(first + 1)] }));
    expect(free(ledger, 1)).toEqual([first + 2]);
    await clock.advance(quarantineMs);
    expect(free(ledger, 1)).toEqual([first]);
    ledger.note(aSlice("b", { ports: [port(first)] }));
    expect(ledger.contested(keyOf("b"))).toEqual(new Set());
  });

  it("are all taken over, as many as a former leader with higher limits has given", () => {
    const { ledger } = aLedger();
    const count = tcpFrontPortsPerNamespaceMax + 100;
    const ports = Array.from({ length: count }, (_, at) => port(first + at));
    ledger.takeOver([aSlice("a", { ports })]);
    expect(ledger.foreign(keyOf("a"))).toEqual([]);
    ledger.note(aSlice("a", { ports }));
    expect(ledger.count()).toEqual({ allocated: count, quarantined: 0 });
    expect(ledger.grant(keyOf("b"), { inUse: 0, missing: 1 })).toEqual({ ports: [], limitedBy: "namespace" });
    expect(ledger.grant("other/new", { inUse: 0, missing: 1 }).ports).toEqual([first + count]);
  });

  it("are the same slice's again when it is back, also in a namespace that has all it may have", () => {
    const { ledger } = aLedger();
    const ports = Array.from({ length: limits.perNamespace }, (_, at) => port(first + at));
    ledger.takeOver([aSlice("a", { ports })]);
    for (const slice of [
      aSlice("a", { ports }),
      aSlice("a", { ports }, { creationTimestamp: "2026-01-01T12:00:01Z" }),
    ]) {
      ledger.gone(keyOf("a"));
      expect(ledger.count()).toEqual({ allocated: 0, quarantined: limits.perNamespace });
      ledger.note(slice);
      expect(ledger.foreign(keyOf("a"))).toEqual([]);
      expect(ledger.count()).toEqual({ allocated: limits.perNamespace, quarantined: 0 });
    }
  });

  it("rest on when their slice names them again that an activator refused", () => {
    const { ledger } = aLedger();
    ledger.takeOver([aSlice("a", { ports: [port(first)] })]);
    ledger.gone(keyOf("a"));
    ledger.refused([first]);
    ledger.note(aSlice("a", { ports: [port(first)] }));
    expect(ledger.foreign(keyOf("a"))).toEqual([first]);
    expect(free(ledger, 1)).toEqual([first + 1]);
  });

  it("are at most so many for a sandbox, and twice as many with those that rest", () => {
    const { ledger } = aLedger();
    expect(ledger.grant(keyOf("a"), { inUse: 0, missing: 40 })).toMatchObject({ limitedBy: "sandbox" });
    expect(ledger.grant(keyOf("a"), { inUse: 0, missing: 40 }).ports).toHaveLength(32);
    expect(ledger.grant(keyOf("a"), { inUse: 30, missing: 2 })).toMatchObject({ limitedBy: undefined });
    const many = (count: number) => Array.from({ length: count }, (_, at) => first + at);
    const freedPorts = many(60).map((activatorPort) => ({ activatorPort, freedAt: noon }));
    ledger.note(aSlice("a", { freedPorts }));
    expect(ledger.grant(keyOf("a"), { inUse: 0, missing: 32 }).ports).toHaveLength(4);
  });

  it("are at most so many for a namespace, in use, at rest or on their way, and stay free for others", async () => {
    const { clock, ledger } = aLedger();
    const share = (from: number, count: number) => Array.from({ length: count }, (_, at) => port(first + from + at));
    ledger.takeOver([
      aSlice("used", { ports: share(0, 2_000) }),
      aSlice("freed", { ports: share(2_000, 2_000), freedAt: noon }),
      aSlice("gone", { ports: share(4_500, 1_000) }),
    ]);
    ledger.reserve(keyOf("written"), share(4_000, 499));
    ledger.gone(keyOf("gone"));
    expect(ledger.grant("lab/new", { inUse: 0, missing: 2 })).toMatchObject({ limitedBy: "namespace" });
    expect(ledger.grant("lab/new", { inUse: 0, missing: 2 }).ports).toHaveLength(1);
    expect(ledger.grant("other/new", { inUse: 0, missing: 32 })).toMatchObject({ limitedBy: undefined });
    // What is written and reserved is one port, not two.
    ledger.note(aSlice("written", { ports: share(4_000, 499) }));
    expect(ledger.grant("lab/new", { inUse: 0, missing: 2 }).ports).toHaveLength(1);
    ledger.release(keyOf("written"));
    expect(ledger.grant("lab/new", { inUse: 0, missing: 2 }).ports).toHaveLength(1);
    await clock.advance(quarantineMs);
    expect(ledger.grant("lab/new", { inUse: 0, missing: 32 })).toMatchObject({ limitedBy: undefined });
  });

  it("count for no sandbox once all of their slices are gone and the quarantine is over", async () => {
    const { clock, ledger } = aLedger();
    const full = { ports: Array.from({ length: limits.perNamespace }, (_, at) => port(first + at)) };
    for (let round = 0; round < 3; round += 1) {
      ledger.reserve(keyOf("a"), full.ports);
      ledger.note(aSlice("a", full));
      ledger.release(keyOf("a"));
      expect(ledger.grant(keyOf("b"), { inUse: 0, missing: 1 })).toEqual({ ports: [], limitedBy: "namespace" });
      ledger.gone(keyOf("a"));
      expect(ledger.grant(keyOf("b"), { inUse: 0, missing: 1 })).toEqual({ ports: [], limitedBy: "namespace" });
      await clock.advance(quarantineMs);
      expect(ledger.grant(keyOf("b"), { inUse: 0, missing: 1 }).ports).toHaveLength(1);
    }
  });

  it.each([
    { left: 0, of: [] },
    { left: 1, of: [last - 1] },
  ])("are found or missed without a look at each of them where $left are free", ({ left, of }) => {
    const { ledger } = aLedger();
    const most = tcpFrontPortsPerNamespaceMax;
    const half = (from: number) => Array.from({ length: most }, (_, at) => port(first + from + at));
    const others = half(most).filter(({ activatorPort }) => left === 0 || activatorPort !== last - 1);
    ledger.takeOver([aSlice("a", { ports: half(0) }), aSlice("b", { ports: others }, { namespace: "other" })]);
    const grant = () => ledger.grant("third/new", { inUse: 0, missing: 2 });
    expect(grant()).toEqual({ ports: of, limitedBy: "range" });
    const spentMs = cpuMs(() => {
      for (let round = 0; round < 20_000; round += 1) grant();
    });
    expect(spentMs).toBeLessThan(1_000);
  });
});
