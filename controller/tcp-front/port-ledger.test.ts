import { describe, expect, it } from "vitest";
import type { Stored } from "../../api/kinds/meta.ts";
import { type EndpointSlice, formatTcpFront, type TcpFront, tcpFrontPorts } from "../../api/protocols/tcp-front.ts";
import { tcpFrontAnnotation } from "../../api/rules/keys.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { noon } from "../../test/support/builders/builders.ts";
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

function aSlice(name: string, said: Partial<TcpFront>, creationTimestamp = noon): Stored<EndpointSlice> {
  const front = { sandboxName: "nova", sandboxUid: "u", ports: [], ...said };
  const annotations = { [tcpFrontAnnotation]: formatTcpFront(front) };
  const metadata = { namespace: "lab", name, uid: name, resourceVersion: "1", creationTimestamp, annotations };
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
    ledger.reserve("lab/b", [port(first + 1)]);
    expect(free(ledger, 1)).toEqual([first + 3]);
    ledger.release("lab/b");
    expect(free(ledger, 1)).toEqual([first + 1]);
    expect(ledger.count()).toEqual({ allocated: 1, quarantined: 1 });
  });

  it("rest when their record goes too early, and not when its time was over", async () => {
    const { clock, ledger } = aLedger();
    ledger.note(aSlice("a", { ports: [port(first)] }));
    ledger.note(aSlice("b", { ports: [port(first + 1)], freedAt: "2026-01-01T11:50:00Z" }));
    ledger.gone("lab/a");
    ledger.gone("lab/b");
    expect(free(ledger, 1)).toEqual([first + 1]);
    expect(ledger.count()).toEqual({ allocated: 0, quarantined: 1 });
    await clock.advance(quarantineMs);
    expect(ledger.count()).toEqual({ allocated: 0, quarantined: 0 });
    expect(free(ledger, 1)).toEqual([first]);
  });

  it("are the older slice's where two say the same", () => {
    const { ledger } = aLedger();
    const young = aSlice("a", { ports: [port(first), port(first + 1)] }, "2026-01-01T12:00:01Z");
    expect(ledger.note(young)).toEqual([]);
    expect(ledger.note(aSlice("b", { ports: [port(first)] }))).toEqual(["lab/a"]);
    expect(ledger.contested("lab/a")).toEqual(new Set([first]));
    expect(ledger.contested("lab/b")).toEqual(new Set());
    ledger.note(aSlice("c", { ports: [port(first)] }));
    expect(ledger.contested("lab/c")).toEqual(new Set([first]));
    ledger.gone("lab/b");
    expect(ledger.contested("lab/c")).toEqual(new Set());
  });

  it("are given up, and rest, when an activator refuses them", async () => {
    const { clock, ledger } = aLedger();
    ledger.note(aSlice("a", { ports: [port(first), port(first + 1)] }));
    ledger.refused([first]);
    expect(ledger.contested("lab/a")).toEqual(new Set([first]));
    ledger.note(aSlice("a", { ports: [port(first + 1)] }));
    expect(free(ledger, 1)).toEqual([first + 2]);
    await clock.advance(quarantineMs);
    expect(free(ledger, 1)).toEqual([first]);
    ledger.note(aSlice("b", { ports: [port(first)] }));
    expect(ledger.contested("lab/b")).toEqual(new Set());
  });

  it("are at most so many for a sandbox, and twice as many with those that rest", () => {
    const { ledger } = aLedger();
    expect(ledger.grant("lab/a", { inUse: 0, missing: 40 })).toMatchObject({ limitedBy: "sandbox" });
    expect(ledger.grant("lab/a", { inUse: 0, missing: 40 }).ports).toHaveLength(32);
    expect(ledger.grant("lab/a", { inUse: 30, missing: 2 })).toMatchObject({ limitedBy: undefined });
    const many = (count: number) => Array.from({ length: count }, (_, at) => first + at);
    const freedPorts = many(60).map((activatorPort) => ({ activatorPort, freedAt: noon }));
    ledger.note(aSlice("a", { freedPorts }));
    expect(ledger.grant("lab/a", { inUse: 0, missing: 32 }).ports).toHaveLength(4);
  });

  it("are at most so many for a namespace, in use, at rest or on their way, and stay free for others", async () => {
    const { clock, ledger } = aLedger();
    const share = (from: number, count: number) => Array.from({ length: count }, (_, at) => port(first + from + at));
    ledger.note(aSlice("used", { ports: share(0, 2_000) }));
    ledger.note(aSlice("freed", { ports: share(2_000, 2_000), freedAt: noon }));
    ledger.reserve("lab/written", share(4_000, 499));
    ledger.note(aSlice("gone", { ports: share(4_500, 1_000) }));
    ledger.gone("lab/gone");
    expect(ledger.grant("lab/new", { inUse: 0, missing: 2 })).toMatchObject({ limitedBy: "namespace" });
    expect(ledger.grant("lab/new", { inUse: 0, missing: 2 }).ports).toHaveLength(1);
    expect(ledger.grant("other/new", { inUse: 0, missing: 32 })).toMatchObject({ limitedBy: undefined });
    // What is written and reserved is one port, not two.
    ledger.note(aSlice("written", { ports: share(4_000, 499) }));
    expect(ledger.grant("lab/new", { inUse: 0, missing: 2 }).ports).toHaveLength(1);
    ledger.release("lab/written");
    expect(ledger.grant("lab/new", { inUse: 0, missing: 2 }).ports).toHaveLength(1);
    await clock.advance(quarantineMs);
    expect(ledger.grant("lab/new", { inUse: 0, missing: 32 })).toMatchObject({ limitedBy: undefined });
  });

  it("count for no sandbox once all of their slices are gone and the quarantine is over", async () => {
    const { clock, ledger } = aLedger();
    const full = { ports: Array.from({ length: limits.perNamespace }, (_, at) => port(first + at)) };
    for (let round = 0; round < 3; round += 1) {
      ledger.reserve("lab/a", full.ports);
      ledger.note(aSlice("a", full));
      ledger.release("lab/a");
      expect(ledger.grant("lab/b", { inUse: 0, missing: 1 })).toEqual({ ports: [], limitedBy: "namespace" });
      ledger.gone("lab/a");
      expect(ledger.grant("lab/b", { inUse: 0, missing: 1 })).toEqual({ ports: [], limitedBy: "namespace" });
      await clock.advance(quarantineMs);
      expect(ledger.grant("lab/b", { inUse: 0, missing: 1 }).ports).toHaveLength(1);
    }
  });

  it("may be none", () => {
    const { ledger } = aLedger();
    const all = Array.from({ length: last - first + 1 }, (_, at) => port(first + at));
    ledger.note(aSlice("a", { ports: all }));
    expect(free(ledger, 1)).toEqual([]);
  });
});
