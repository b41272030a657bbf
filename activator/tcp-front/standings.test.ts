import { describe, expect, it } from "vitest";
import { tcpFrontAnnotation } from "../../api/keys.ts";
import type { Stored } from "../../api/meta.ts";
import { type EndpointSlice, formatTcpFront, type TcpFront, type TcpFrontPort } from "../../api/tcp-front.ts";
import { aFrontSlice } from "../../test/support/tcp-front-lab.ts";
import { ourPortsNamedBy, standingOf } from "./standings.ts";

const port = (activatorPort: number, containerPort = 5432): TcpFrontPort => ({
  name: `p${containerPort}`,
  containerPort,
  activatorPort,
});

function slice(
  front: Partial<TcpFront> & { readonly sandboxUid: string },
  created = "10:00:00",
): Stored<EndpointSlice> {
  const made = aFrontSlice({ sandboxName: "nova", ports: [port(10_001)], ...front });
  const { name = "", ...metadata } = made.metadata;
  const stored = { name, uid: `slice-of-${front.sandboxUid}`, resourceVersion: "1" };
  return { ...made, metadata: { ...metadata, ...stored, creationTimestamp: `2026-01-01T${created}Z` } };
}

const written = (text: string): Stored<EndpointSlice> => {
  const made = slice({ sandboxUid: "u1" });
  return { ...made, metadata: { ...made.metadata, annotations: { [tcpFrontAnnotation]: text } } };
};

describe("an activator port", () => {
  it("stands for the port and the sandbox that its slice names", () => {
    expect(standingOf(10_001, [slice({ sandboxUid: "u1" })])).toEqual({
      ...{ activatorPort: 10_001, containerPort: 5432 },
      ...{ namespace: "default", sandboxName: "nova", sandboxUid: "u1" },
    });
  });

  it("stands for nothing that no slice names", () => {
    expect(standingOf(10_001, [])).toBeUndefined();
    expect(standingOf(10_002, [slice({ sandboxUid: "u1" })])).toBeUndefined();
  });

  it("belongs to the older of two slices, and of equally old ones to the first by UID, whatever their order", () => {
    const older = slice({ sandboxUid: "u2" }, "09:59:59");
    const younger = slice({ sandboxUid: "u1" });
    const twin = slice({ sandboxUid: "u3" });
    for (const naming of [
      [older, younger, twin],
      [twin, younger, older],
    ]) {
      expect(standingOf(10_001, naming)?.sandboxUid).toBe("u2");
    }
    expect(standingOf(10_001, [twin, younger])?.sandboxUid).toBe("u1");
  });

  it("stands for nothing while it is freed, even if a younger slice names it", () => {
    const freed = slice({ sandboxUid: "u1", freedAt: "2026-01-01T10:05:00Z" });
    expect(standingOf(10_001, [freed])).toBeUndefined();
    expect(standingOf(10_001, [freed, slice({ sandboxUid: "u2" }, "10:06:00")])).toBeUndefined();
    const freedPorts = [{ activatorPort: 10_001, freedAt: "2026-01-01T10:05:00Z" }];
    const undeclared = slice({ sandboxUid: "u1", ports: [port(10_002)], freedPorts });
    expect(ourPortsNamedBy(undeclared)).toEqual([10_002, 10_001]);
    expect(standingOf(10_001, [undeclared, slice({ sandboxUid: "u2" }, "10:06:00")])).toBeUndefined();
    expect(standingOf(10_002, [undeclared])?.sandboxUid).toBe("u1");
  });
});

describe("the ports that a slice names", () => {
  it("are each told once", () => {
    const ports = [port(10_001), port(10_002, 80), port(10_001, 81)];
    expect(ourPortsNamedBy(slice({ sandboxUid: "u1", ports }))).toEqual([10_001, 10_002]);
  });

  it("are only those of the range: whoever may write slices must not choose where we listen", () => {
    const ports = [port(8080), port(9_999), port(10_000), port(31_999), port(32_000)];
    expect(ourPortsNamedBy(slice({ sandboxUid: "u1", ports }))).toEqual([10_000, 31_999]);
  });

  it.each(["", "{", "[]", "null", JSON.stringify({ sandboxName: "nova" })])(
    "are those that it lists where nobody can read what it says (%j), and stand for nothing",
    (text) => {
      expect(ourPortsNamedBy(written(text))).toEqual([10_001]);
      expect(standingOf(10_001, [written(text), slice({ sandboxUid: "u2" }, "10:06:00")])).toBeUndefined();
    },
  );

  it("are read anew when the slice changes", () => {
    const front = { sandboxName: "nova", sandboxUid: "u1", ports: [port(10_007)] };
    expect(ourPortsNamedBy(written(formatTcpFront(front)))).toEqual([10_007]);
  });
});
