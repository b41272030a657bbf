import { describe, expect, it } from "vitest";
import {
  type EndpointSlice,
  formatTcpFront,
  portsNamedBy,
  type TcpFront,
  type TcpFrontPort,
  tcpFrontSliceName,
} from "../../../api/between-programs/tcp-front.ts";
import type { Stored } from "../../../api/kinds/meta.ts";
import { tcpFrontAnnotation } from "../../../api/rules/keys.ts";
import { noon } from "../../../test/support/builders/builders.ts";
import { aFrontSlice } from "../../../test/support/labs/tcp-front-lab.ts";
import { isSamePortBinding, portBindingOf } from "./port-bindings.ts";

const port = (activatorPort: number, containerPort = 5432): TcpFrontPort => ({
  name: `p${containerPort}`,
  containerPort,
  activatorPort,
});

const named = (slice: EndpointSlice): readonly number[] => [...portsNamedBy(slice)];

function slice(front: Partial<TcpFront> & { readonly sandboxUid: string }): Stored<EndpointSlice> {
  const made = aFrontSlice({ sandboxName: "nova", ports: [port(10_001)], ...front });
  const { name = "", ...metadata } = made.metadata;
  const stored = { name, uid: `slice-of-${front.sandboxUid}`, resourceVersion: "1" };
  return { ...made, metadata: { ...metadata, ...stored, creationTimestamp: noon } };
}

const written = (text: string): Stored<EndpointSlice> => {
  const made = slice({ sandboxUid: "u1" });
  return { ...made, metadata: { ...made.metadata, annotations: { [tcpFrontAnnotation]: text } } };
};

describe("an activator port", () => {
  it("is bound to the port and the sandbox in its slice", () => {
    expect(portBindingOf(10_001, slice({ sandboxUid: "u1" }))).toEqual({
      ...{ activatorPort: 10_001, containerPort: 5432 },
      ...{ namespace: "default", sandboxName: "nova", sandboxUid: "u1" },
    });
  });

  it("is not bound without a slice", () => {
    expect(portBindingOf(10_001, undefined)).toBeUndefined();
    expect(portBindingOf(10_002, slice({ sandboxUid: "u1" }))).toBeUndefined();
  });

  it("is not bound once its slice has released it", () => {
    expect(portBindingOf(10_001, slice({ sandboxUid: "u1", freedAt: "2026-01-01T10:05:00Z" }))).toBeUndefined();
    const freedPorts = [{ activatorPort: 10_001, freedAt: "2026-01-01T10:05:00Z" }];
    const undeclared = slice({ sandboxUid: "u1", ports: [port(10_002)], freedPorts });
    expect(named(undeclared)).toEqual([10_002, 10_001]);
    expect(portBindingOf(10_001, undeclared)).toBeUndefined();
    expect(portBindingOf(10_002, undeclared)?.sandboxUid).toBe("u1");
  });
});

describe("the ports that a slice names", () => {
  it("are each returned once", () => {
    const ports = [port(10_001), port(10_002, 80), port(10_001, 81)];
    expect(named(slice({ sandboxUid: "u1", ports }))).toEqual([10_001, 10_002]);
  });

  it("are those of the range alone, so that a slice cannot open other ports", () => {
    const ports = [port(8080), port(9_999), port(10_000), port(31_999), port(32_000)];
    expect(named(slice({ sandboxUid: "u1", ports }))).toEqual([10_000, 31_999]);
  });

  it.each(["", "{", "[]", "null", JSON.stringify({ sandboxName: "nova" })])(
    "are the listed ports if the annotation is malformed (%j), and stand for no sandbox",
    (text) => {
      expect(named(written(text))).toEqual([10_001]);
      expect(portBindingOf(10_001, written(text))).toBeUndefined();
    },
  );

  it("are none if no controller gives a slice such a name", () => {
    const { metadata, ...rest } = slice({ sandboxUid: "u1" });
    const renamed = { ...rest, metadata: { ...metadata, name: "web" } };
    expect(named(renamed)).toEqual([]);
    expect(portBindingOf(10_001, renamed)).toBeUndefined();
    const ofAnother = { ...rest, metadata: { ...metadata, name: tcpFrontSliceName("u2") } };
    expect(portBindingOf(10_001, ofAnother)).toBeUndefined();
  });

  it("are read again when the slice changes", () => {
    const front = { sandboxName: "nova", sandboxUid: "u1", ports: [port(10_007)] };
    expect(named(written(formatTcpFront(front)))).toEqual([10_007]);
  });
});

describe("two port bindings", () => {
  const binding = {
    ...{ activatorPort: 10_001, containerPort: 5432 },
    ...{ namespace: "default", sandboxName: "nova", sandboxUid: "u1" },
  };

  it("are the same if there is neither, or if all fields are equal", () => {
    expect(isSamePortBinding(undefined, undefined)).toBe(true);
    expect(isSamePortBinding(binding, { ...binding })).toBe(true);
  });

  it.each([
    undefined,
    { ...binding, activatorPort: 10_002 },
    { ...binding, containerPort: 22 },
    { ...binding, namespace: "lab" },
    { ...binding, sandboxName: "vega" },
    { ...binding, sandboxUid: "u2" },
  ])("are not the same if one field differs: %j", (other) => {
    expect([isSamePortBinding(binding, other), isSamePortBinding(other, binding)]).toEqual([false, false]);
  });
});
