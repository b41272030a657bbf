import { describe, expect, it } from "vitest";
import { tcpFrontAnnotation } from "../../api/keys.ts";
import type { Stored } from "../../api/meta.ts";
import { type EndpointSlice, formatTcpFront, type TcpFront, tcpFrontPorts } from "../../api/tcp-front.ts";
import { FakeClock } from "../../lib/clock.ts";
import { noon } from "../../test/support/builders.ts";
import { PortLedger } from "./port-ledger.ts";

const quarantineMs = 600_000;
const { first, last } = tcpFrontPorts;

function aLedger(random = 0) {
  const clock = new FakeClock(noon);
  return { clock, ledger: new PortLedger({ clock, quarantineMs, random: () => random }) };
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
    expect(ledger.free(2)).toEqual([last, first]);
    ledger.gave(first);
    expect(ledger.free(1)).toEqual([first + 1]);
  });

  it("are nobody else's while a slice says so, a write is under way, or a sandbox that gave one up rests", () => {
    const { ledger } = aLedger();
    ledger.note(aSlice("a", { ports: [port(first)], freedPorts: [{ activatorPort: first + 2, freedAt: noon }] }));
    ledger.reserve("lab/b", [port(first + 1)]);
    expect(ledger.free(1)).toEqual([first + 3]);
    ledger.release("lab/b");
    expect(ledger.free(1)).toEqual([first + 1]);
    expect(ledger.count()).toEqual({ allocated: 1, quarantined: 1 });
  });

  it("rest when their record goes too early, and not when its time was over", async () => {
    const { clock, ledger } = aLedger();
    ledger.note(aSlice("a", { ports: [port(first)] }));
    ledger.note(aSlice("b", { ports: [port(first + 1)], freedAt: "2026-01-01T11:50:00Z" }));
    ledger.gone("lab/a");
    ledger.gone("lab/b");
    expect(ledger.free(1)).toEqual([first + 1]);
    expect(ledger.count()).toEqual({ allocated: 0, quarantined: 1 });
    await clock.advance(quarantineMs);
    expect(ledger.count()).toEqual({ allocated: 0, quarantined: 0 });
    expect(ledger.free(1)).toEqual([first]);
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
    expect(ledger.free(1)).toEqual([first + 2]);
    await clock.advance(quarantineMs);
    expect(ledger.free(1)).toEqual([first]);
    ledger.note(aSlice("b", { ports: [port(first)] }));
    expect(ledger.contested("lab/b")).toEqual(new Set());
  });

  it("may be none", () => {
    const { ledger } = aLedger();
    const all = Array.from({ length: last - first + 1 }, (_, at) => port(first + at));
    ledger.note(aSlice("a", { ports: all }));
    expect(ledger.free(1)).toEqual([]);
  });
});
