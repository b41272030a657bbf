import { describe, expect, it } from "vitest";
import { aSandbox } from "../../test/support/builders/builders.ts";
import { tcpFrontAnnotation } from "../rules/keys.ts";
import { formatTcpFront, standsFor, type TcpFront, tcpFrontOf, tcpFrontSliceName, usesTcpFront } from "./tcp-front.ts";

const front: TcpFront = {
  sandboxName: "nova",
  sandboxUid: "uid-1",
  ports: [{ name: "psql", containerPort: 5432, activatorPort: 10_000 }],
};
const sliceSaying = (written: string, name = tcpFrontSliceName("uid-1")) => ({
  metadata: { name, annotations: { [tcpFrontAnnotation]: written } },
});

describe("which activator ports stand for a sandbox", () => {
  it("is read from a slice as it was written", () => {
    const freedAt = "2026-01-01T00:00:00Z";
    for (const one of [front, { ...front, freedAt }, { ...front, freedPorts: [{ activatorPort: 10_001, freedAt }] }]) {
      expect(tcpFrontOf(sliceSaying(formatTcpFront(one)))).toEqual(one);
    }
  });

  it.each([
    { what: "is no JSON", written: "{" },
    { what: "is null", written: "null" },
    { what: "names no sandbox", written: JSON.stringify({ ...front, sandboxName: "" }) },
    {
      what: "has an impossible port",
      written: JSON.stringify({ ...front, ports: [{ ...front.ports[0], activatorPort: 0 }] }),
    },
    {
      what: "has a port that was freed at no time",
      written: JSON.stringify({ ...front, freedPorts: [{ activatorPort: 10_001 }] }),
    },
    { what: "was freed at no time", written: JSON.stringify({ ...front, freedAt: "soon" }) },
  ])("is undefined if the annotation $what", ({ written }) => {
    expect(tcpFrontOf(sliceSaying(written))).toBeUndefined();
  });

  it.each(["s", tcpFrontSliceName("uid-2")])("is undefined if the slice is not that of its sandbox: %s", (name) => {
    expect(tcpFrontOf(sliceSaying(formatTcpFront(front), name))).toBeUndefined();
  });

  it("is absent on a slice without the annotation", () => {
    expect(tcpFrontOf({ metadata: { name: "s" } })).toBeUndefined();
  });

  it("holds for that very sandbox, until it is freed", () => {
    const sandbox = aSandbox({}, { name: "nova", uid: "uid-1" });
    expect(standsFor(front, sandbox)).toBe(true);
    expect(standsFor({ ...front, freedAt: "2026-01-01T00:00:00Z" }, sandbox)).toBe(false);
    expect(standsFor(front, aSandbox({}, { name: "nova", uid: "uid-2" }))).toBe(false);
  });
});

describe("whether a Service leads to the activators", () => {
  it.each([
    { spec: { service: true, autoResume: {} }, leads: true },
    { spec: { service: true, autoSuspension: {} }, leads: true },
    { spec: { service: true }, leads: false },
    { spec: { autoResume: {} }, leads: false },
    { spec: { service: false, autoSuspension: {} }, leads: false },
  ])("$leads for $spec", ({ spec, leads }) => {
    expect(usesTcpFront(spec)).toBe(leads);
  });
});
