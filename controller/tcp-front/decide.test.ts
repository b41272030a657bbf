import { describe, expect, it } from "vitest";
import {
  type EndpointSlice,
  serviceNameLabel,
  type TcpFront,
  tcpFrontOf,
} from "../../api/between-programs/tcp-front.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import { FakeClock } from "../../lib/time/clock.ts";
import { aSandbox, noon } from "../../test/support/builders/builders.ts";
import { podWith } from "../../test/support/labs/front-lab.ts";
import { decide } from "./decide.ts";
import { freshSlice } from "./make-slice.ts";
import type { ObservedFront, SeenActivator } from "./observed-front.ts";
import { FreedAges } from "./ports/freed-ages.ts";

const quarantineMs = 600_000;
const sandbox = aSandbox({ service: true, autoResume: {}, podTemplate: podWith(22, 80) });
const ssh = { name: "p-22-tcp", containerPort: 22, activatorPort: 10_001 };
const http = { name: "p-80-tcp", containerPort: 80, activatorPort: 10_002 };
const front: TcpFront = { sandboxName: "nova", sandboxUid: sandbox.metadata.uid, ports: [ssh, http] };

function anActivator(address: string, ...listensOn: readonly number[]): SeenActivator {
  return { endpoint: { address, run: address, ready: true }, listensOn: new Set(listensOn) };
}

const noEndpoints = { service: undefined, endpoints: [], ports: [] };

function aSlice(said: TcpFront = front, target: Parameters<typeof freshSlice>[3] = noEndpoints): Stored<EndpointSlice> {
  const slice = freshSlice(sandbox, said, "IPv4", target);
  const { name = "" } = slice.metadata;
  const stored = { name, uid: "s", resourceVersion: "7", creationTimestamp: noon };
  return { ...slice, metadata: { ...slice.metadata, ...stored } };
}

/** With a wall clock that was right all the time. */
function observed(seen: Partial<ObservedFront> = {}): ObservedFront {
  const { now = new Date(noon) } = seen;
  const ages = new FreedAges(new FakeClock(now));
  ages.see("lab/nova", seen.slice && tcpFrontOf(seen.slice));
  return {
    ...{ now, quarantineMs, rested: ages.restedMs("lab/nova") },
    ...{ sandbox, hasService: true, slice: undefined, reserved: [] },
    ...{ contested: new Set<number>(), freePorts: [], activators: [], ...seen },
  };
}

const said = (seen: Partial<ObservedFront>) => {
  const { action } = decide(observed(seen));
  return action && action.do !== "delete" ? tcpFrontOf(action.slice) : action;
};

const listed = (...activators: readonly SeenActivator[]) => {
  const { action } = decide(observed({ slice: aSlice(), activators }));
  if (action?.do !== "replace") return undefined;
  const { endpoints, ports } = action.slice;
  return [endpoints?.flatMap(({ addresses }) => addresses), ports?.map(({ port }) => port)];
};

describe("the allocation", () => {
  it("takes the ports that are free, in the order of the declared ones", () => {
    expect(said({ freePorts: [10_001, 10_002] })).toEqual(front);
  });

  it("keeps what was given in a write that may have been lost", () => {
    expect(said({ reserved: [http], freePorts: [10_001] })).toEqual(front);
  });

  it("leaves a port to an older slice that has it, and does not free it", () => {
    const moved = { ...front, ports: [ssh, { ...http, activatorPort: 10_003 }] };
    expect(said({ slice: aSlice(), contested: new Set([10_002]), freePorts: [10_003] })).toEqual(moved);
  });

  it("says how many got none, and makes no slice for nothing", () => {
    expect(decide(observed({ freePorts: [10_001] }))).toMatchObject({ action: { do: "create" }, unallocated: 1 });
    expect(decide(observed())).toEqual({ unallocated: 2 });
  });

  it("keeps a port that is no longer declared, until it has rested", () => {
    const freedAt = new Date(noon).toISOString();
    const one = aSandbox({ service: true, autoResume: {}, podTemplate: podWith(22) });
    const kept = { ...front, ports: [ssh], freedPorts: [{ activatorPort: 10_002, freedAt }] };
    expect(said({ sandbox: one, slice: aSlice() })).toEqual(kept);
    const before = new Date(Date.parse(noon) + quarantineMs - 1);
    expect(decide(observed({ sandbox: one, slice: aSlice(kept), now: before }))).toEqual({
      recheckAfterMs: 1,
      unallocated: 0,
    });
    const after = new Date(Date.parse(noon) + quarantineMs);
    expect(said({ sandbox: one, slice: aSlice(kept), now: after })).toEqual({ ...front, ports: [ssh] });
    const rested = new Map([[freedAt, quarantineMs - 1]]);
    expect(decide(observed({ sandbox: one, slice: aSlice(kept), now: after, rested }))).toEqual({
      recheckAfterMs: 1,
      unallocated: 0,
    });
  });

  it("is checked again when the first of several resting ports has rested", () => {
    const restsFor = (activatorPort: number, ms: number) => ({
      activatorPort,
      freedAt: new Date(Date.parse(noon) - quarantineMs + ms).toISOString(),
    });
    const slice = aSlice({ ...front, freedPorts: [restsFor(10_008, 30_000), restsFor(10_009, 20_000)] });
    expect(decide(observed({ slice }))).toEqual({ recheckAfterMs: 20_000, unallocated: 0 });
  });
});

describe("a slice", () => {
  const both = [10_001, 10_002];

  it("lists the activators that accept on all of its ports, by address", () => {
    expect(listed(anActivator("10.0.0.2", ...both), anActivator("10.0.0.1", ...both))).toEqual([
      ["10.0.0.1", "10.0.0.2"],
      both,
    ]);
  });

  it("follows the activator that accepts on most, where none accepts on all", () => {
    expect(listed(anActivator("10.0.0.1", 10_001), anActivator("10.0.0.2", ...both))).toEqual([["10.0.0.2"], both]);
    expect(listed(anActivator("10.0.0.1", 10_001), anActivator("10.0.0.2"))).toEqual([["10.0.0.1"], [10_001]]);
    expect(listed(anActivator("10.0.0.1"))).toBeUndefined();
  });

  it("lists each activator as ready to serve, with its Pod", () => {
    const pod = { namespace: "rouse", name: "activator-1", uid: "p1" };
    const { endpoint, listensOn } = anActivator("10.0.0.1", ...both);
    const { action } = decide(
      observed({ slice: aSlice(), activators: [{ endpoint: { ...endpoint, pod }, listensOn }] }),
    );
    expect(action?.do === "replace" && action.slice.endpoints).toEqual([
      {
        addresses: ["10.0.0.1"],
        conditions: { ready: true, serving: true, terminating: false },
        targetRef: { kind: "Pod", ...pod },
      },
    ]);
  });

  it("lists addresses of one family only", () => {
    expect(listed(anActivator("10.0.0.1", ...both), anActivator("fd00::1", ...both))).toEqual([["10.0.0.1"], both]);
  });

  it("keeps its family while a ready activator has it, or while none is ready", () => {
    const four = anActivator("10.0.0.1", ...both);
    const six = anActivator("fd00::1", ...both);
    const unready = ({ endpoint, listensOn }: SeenActivator) => ({
      endpoint: { ...endpoint, ready: false },
      listensOn,
    });
    const kept = [["10.0.0.1"], both];
    expect(listed(six, four)).toEqual(kept);
    expect(listed(unready(six), unready(four))).toEqual(kept);
    const family = (...activators: readonly SeenActivator[]) =>
      decide(observed({ slice: aSlice(), activators })).action?.do;
    expect(family(unready(four), six)).toBe("delete");
    expect(family(six)).toBe("delete");
    expect(family()).toBeUndefined();
  });

  it("leads nowhere without its Service", () => {
    const activators = [anActivator("10.0.0.1", ...both)];
    const { action } = decide(observed({ slice: aSlice(), activators }));
    const target = action?.do === "replace" ? action.slice : aSlice();
    expect(target.metadata.labels).toHaveProperty([serviceNameLabel], "nova");
    const without = decide(observed({ slice: target, activators, hasService: false })).action;
    expect(without).toMatchObject({ do: "replace", urgency: "removal", slice: { endpoints: [], ports: [] } });
    expect(without?.slice.metadata.labels).not.toHaveProperty([serviceNameLabel]);
  });

  it("is written for the first address before others are, and for one that goes before one that comes", () => {
    const urgency = (before: readonly string[], after: readonly string[]) => {
      const seen = (addresses: readonly string[]) => addresses.map((address) => anActivator(address, ...both));
      const first = decide(observed({ slice: aSlice(), activators: seen(before) })).action;
      const slice = first?.do === "replace" ? first.slice : aSlice();
      return decide(observed({ slice, activators: seen(after) })).action?.urgency;
    };
    expect(urgency([], ["10.0.0.1"])).toBe("first");
    expect(urgency(["10.0.0.1"], [])).toBe("removal");
    expect(urgency(["10.0.0.1"], ["10.0.0.2"])).toBe("removal");
    expect(urgency(["10.0.0.1"], ["10.0.0.1", "10.0.0.2"])).toBe("refresh");
    expect(urgency(["10.0.0.1"], ["10.0.0.1"])).toBeUndefined();
  });

  it("that is being deleted is left alone", () => {
    const slice = aSlice();
    const doomed = { ...slice, metadata: { ...slice.metadata, deletionTimestamp: noon } };
    expect(decide(observed({ slice: doomed, freePorts: [1, 2] }))).toEqual({ unallocated: 0 });
  });
});

describe("the slice of a sandbox that is gone", () => {
  const freedAt = new Date(noon).toISOString();
  const freed = aSlice({ ...front, freedAt });
  const at = (ms: number) =>
    decide(observed({ sandbox: undefined, slice: freed, now: new Date(Date.parse(noon) + ms) }));

  it("says since when, and leads nowhere", () => {
    expect(said({ sandbox: undefined, slice: aSlice() })).toEqual({ ...front, freedAt });
  });

  it("rests, and goes", () => {
    expect(at(1)).toEqual({ recheckAfterMs: quarantineMs - 1, unallocated: 0 });
    expect(at(quarantineMs).action).toEqual({ do: "delete", slice: freed, keep: undefined, urgency: "refresh" });
  });

  it("rests from now on when the clock was set back by more than the rest", () => {
    const now = new Date(Date.parse(noon) - 3_600_000);
    const { action, recheckAfterMs } = decide(observed({ sandbox: undefined, slice: freed, now }));
    expect(action?.do === "replace" && tcpFrontOf(action.slice)?.freedAt).toBe(now.toISOString());
    expect(recheckAfterMs).toBe(quarantineMs);
  });

  it("lets a port of a sandbox that lives rest from now on when the clock was set back", () => {
    const now = new Date(Date.parse(noon) - 3_600_000);
    const resting = { ...front, freedPorts: [{ activatorPort: 10_009, freedAt }] };
    const freedPorts = [{ activatorPort: 10_009, freedAt: now.toISOString() }];
    expect(said({ slice: aSlice(resting), now })).toEqual({ ...front, freedPorts });
  });

  it("is the sandbox's again when it wants it back", () => {
    expect(said({ slice: freed })).toEqual(front);
  });
});
