import { describe, expect, it } from "vitest";
import type { Pod } from "../../api/kinds/core.ts";
import type { Stored } from "../../api/kinds/meta.ts";
import type { Sandbox } from "../../api/kinds/sandbox.ts";
import { type Question, type Resolution, resolveSandbox } from "./resolve.ts";

const stored = { resourceVersion: "7", creationTimestamp: "2026-01-01T11:59:00Z" };
const spec = { containers: [{ name: "main", image: "program" }] };
const sandboxOf = (more: Partial<Sandbox["spec"]> = {}): Stored<Sandbox> => ({
  metadata: { name: "nova", namespace: "lab", uid: "u1", generation: 3, ...stored },
  spec: { podTemplate: { spec }, operatingMode: "Running", ...more },
});
const podAt = (...ips: readonly string[]): Stored<Pod> => ({
  metadata: { name: "nova", uid: "p1", ...stored },
  spec,
  status: { phase: "Running", podIPs: ips.map((ip) => ({ ip })) },
});

/** Asks of one pair of versions again and again. */
function asker(sandbox = sandboxOf(), pod = podAt("10.0.0.5", "fd00::5")) {
  const first: Question = {
    ...{ routed: { namespace: "lab", name: "nova", port: 80, podIp: undefined, byHost: true }, sandbox, pod },
    ...{ firstUid: undefined, now: new Date("2026-01-01T12:00:00Z"), unschedulableGraceMs: undefined },
    ...{ nowMs: 60_000, sightings: { sightsOf: () => ({ seenMs: 0, addressedMs: 0 }) } },
    ...{ allowLoopbackPodIp: false, fences: { reportedGeneration: 0, fenced: new Set() }, ignored: false },
    validForMs: 120_000,
  };
  const ask = (changed: Partial<Question> = {}) => inWords(resolveSandbox({ ...first, ...changed }));
  const uncached = resolveSandbox(first);
  expect(resolveSandbox(first)).toEqual(uncached);
  return { ask, routed: first.routed };
}

function inWords(found: Resolution): string {
  if (found.is === "refused") return found.error.code;
  if (found.is !== "addressed") return found.is;
  const { ip, port, young } = found.target;
  return `${ip} ${port}${young ? " young" : ""}`;
}

describe("a sandbox with a cached resolution", () => {
  it("is resolved to its address with the requested port", () => {
    const { ask, routed } = asker();
    expect(ask()).toBe("10.0.0.5 80 young");
    expect(ask({ routed: { ...routed, port: 81 } })).toBe("10.0.0.5 81 young");
    expect(ask({ routed: { ...routed, port: undefined } })).toBe("10.0.0.5 8888 young");
    expect(ask({ routed: { ...routed, podIp: "fd00::5" } })).toBe("fd00::5 80 young");
  });

  it("is not forwarded to after a fence or a reported suspension", () => {
    const { ask } = asker();
    expect(ask({ fences: { reportedGeneration: 0, fenced: new Set(["p1"]) } })).toBe("pending");
    expect(ask({ fences: { reportedGeneration: 4, fenced: new Set() } })).toBe("pending");
    expect(ask()).toBe("10.0.0.5 80 young");
  });

  it("is another sandbox for a request that began with a former one of its name", () => {
    const { ask } = asker();
    expect(ask({ firstUid: "u1" })).toBe("10.0.0.5 80 young");
    expect(ask({ firstUid: "u0" })).toBe("SandboxReplaced");
  });

  it("is resolved again in every later version of it or its Pod", () => {
    const { ask } = asker();
    expect(ask({ sandbox: sandboxOf({ operatingMode: "Suspended" }) })).toBe("pending");
    expect(ask({ pod: podAt("10.0.0.6") })).toBe("10.0.0.6 80 young");
    expect(ask({ pod: undefined })).toBe("pending");
  });

  it("ages and expires in the same version", () => {
    expect(asker().ask({ nowMs: 120_000 })).toBe("10.0.0.5 80");
    const now = new Date("2026-01-01T12:30:00Z");
    expect(asker().ask({ now })).toBe("10.0.0.5 80 young");
    expect(asker(sandboxOf({ shutdownTime: "2026-01-01T12:20:00Z" })).ask({ now })).toBe("SandboxExpired");
  });

  it("is read once for each version, also with a shutdown time", () => {
    let reads = 0;
    const spec = { operatingMode: "Running", shutdownTime: "2026-01-01T12:20:00Z" } as const;
    const sandbox = sandboxOf(spec);
    const podTemplate = { spec: { containers: [] } };
    const counted = {
      ...sandbox.spec,
      get podTemplate() {
        reads += 1;
        return podTemplate;
      },
    };
    const { ask } = asker({ ...sandbox, spec: counted });
    const before = reads;
    for (let request = 0; request < 10; request += 1) expect(ask()).toBe("10.0.0.5 80 young");
    expect(reads).toBe(before);
    expect(ask({ now: new Date("2026-01-01T12:20:00Z") })).toBe("SandboxExpired");
  });

  it("on a loopback address is resolved only where loopback is allowed", () => {
    const { ask } = asker(sandboxOf(), podAt("127.0.0.1"));
    expect(ask({ allowLoopbackPodIp: true })).toBe("127.0.0.1 80 young");
    expect(ask()).toBe("BadAddress");
  });
});
