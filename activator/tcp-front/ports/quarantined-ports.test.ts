import { describe, expect, it } from "vitest";
import { type EndpointSlice, type TcpFront, usualQuarantineMs } from "../../../api/between-programs/tcp-front.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { FakeClock } from "../../../lib/time/clock.ts";
import { noon } from "../../../test/support/builders/builders.ts";
import { aFrontSlice } from "../../../test/support/labs/tcp-front-lab.ts";
import { NamespacePorts } from "./namespace-ports.ts";
import { QuarantinedPorts } from "./quarantined-ports.ts";

const port = (activatorPort: number) => ({ name: "main", containerPort: 80, activatorPort });
/** The slice of a sandbox, which is made anew with each creation time. */
function saying(said: Partial<TcpFront>, creationTimestamp = noon): Stored<EndpointSlice> {
  const front = { sandboxName: "nova", sandboxUid: "u1", ports: [port(10_001)], ...said };
  const slice = aFrontSlice(front);
  const { name = "", ...metadata } = slice.metadata;
  const uid = `${front.sandboxUid} ${creationTimestamp}`;
  return { ...slice, metadata: { ...metadata, name, uid, resourceVersion: "1", creationTimestamp } };
}

const all = () => true;

function some() {
  const clock = new FakeClock(noon);
  const ofNamespace = new NamespacePorts();
  const over: number[] = [];
  const vanished = new QuarantinedPorts(clock, ofNamespace, (ports) => over.push(...ports));
  /** The ports of a slice that are quarantined for other sandboxes after it has lost them. */
  const noted = (slice: Stored<EndpointSlice>, hasLost: (activatorPort: number) => boolean = all) => {
    vanished.note(slice, hasLost);
    return [10_001, 10_002, 10_003, 10_004].filter((each) => vanished.rests(asked(each)));
  };
  return { clock, vanished, over, noted, of: (namespace: string) => ofNamespace.of(namespace) };
}

const asked = (activatorPort: number, sandboxUid = "u2") => ({ activatorPort, sandboxUid });

describe("a port whose record was removed", () => {
  it("is quarantined for 10 minutes for other sandboxes, and not for its own", async () => {
    const { clock, vanished, over, noted } = some();
    expect(noted(saying({}))).toEqual([10_001]);
    expect(vanished.rests(asked(10_001, "u1"))).toBe(false);
    expect(vanished.rests(asked(10_002))).toBe(false);
    await clock.advance(usualQuarantineMs);
    expect(vanished.rests(asked(10_001))).toBe(false);
    expect(over).toEqual([10_001]);
  });

  it("is quarantined for the rest of its time", async () => {
    const { clock, vanished, over, noted } = some();
    const freedAt = "2026-01-01T11:55:00,0Z";
    const freedPorts = [
      { activatorPort: 10_002, freedAt },
      { activatorPort: 10_003, freedAt: "2026-01-01T11:50:00Z" },
      { activatorPort: 10_004, freedAt: "2026-01-01T13:00:00Z" },
    ];
    expect(noted(saying({ freedAt, freedPorts }))).toEqual([10_001, 10_002, 10_004]);
    await clock.advance(usualQuarantineMs / 2);
    expect([10_001, 10_002, 10_004].map((each) => vanished.rests(asked(each)))).toEqual([false, false, true]);
    await clock.advance(usualQuarantineMs / 2);
    expect(vanished.rests(asked(10_004))).toBe(false);
    expect(over).toEqual([10_001, 10_002, 10_004]);
  });

  it("is a port that its slice has lost, and no other", () => {
    const { noted } = some();
    const before = saying({ ports: [port(10_001), port(10_002)] });
    expect(noted(before, (activatorPort) => activatorPort === 10_002)).toEqual([10_002]);
  });

  it("counts for the namespace of its slice, once, until its quarantine is over", async () => {
    const { clock, vanished, of } = some();
    vanished.note(saying({ ports: [port(10_001), port(10_002)] }), all);
    await clock.advance(usualQuarantineMs / 2);
    vanished.note(saying({}), all);
    expect([of("default"), of("other")]).toEqual([2, 0]);
    await clock.advance(usualQuarantineMs / 2);
    expect(of("default")).toBe(1);
    await clock.advance(usualQuarantineMs / 2);
    expect(of("default")).toBe(0);
  });

  it("stays its former sandbox's after other sandboxes were denied it", () => {
    const { vanished } = some();
    vanished.note(saying({}), all);
    vanished.note(saying({ sandboxUid: "u2" }, "2026-01-01T12:00:01Z"), all);
    expect(vanished.rests(asked(10_001, "u1"))).toBe(false);
  });

  it("is not quarantined if the slice was unreadable", () => {
    const { noted } = some();
    const { metadata, ...slice } = saying({});
    expect(noted({ ...slice, metadata: { ...metadata, annotations: {} } })).toEqual([]);
  });

  it("is awaited with one timer, however often its slice is rewritten", async () => {
    const { clock, vanished, over } = some();
    for (let round = 0; round < 80; round += 1) {
      vanished.note(saying({ ports: [port(10_001), port(10_002)] }), all);
      await clock.advance(1_000);
    }
    expect(clock.pending).toBe(1);
    await clock.advance(usualQuarantineMs);
    expect([over, clock.pending]).toEqual([[10_001, 10_002], 0]);
  });
});
