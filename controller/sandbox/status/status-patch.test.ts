import { describe, expect, it } from "vitest";
import type { Condition } from "../../../api/kinds/meta.ts";
import { noon } from "../../../test/support/builders/builders.ts";
import { statusPatch } from "./status-patch.ts";

const ready = (status: Condition["status"]): Condition => ({
  type: "Ready",
  status,
  reason: "DependenciesReady",
  message: "Pod is Ready",
  lastTransitionTime: noon,
});

describe("a write of the status", () => {
  it("is skipped for a change of spelling alone", () => {
    const spelled = { ...ready("True"), lastTransitionTime: "2026-01-01T12:00:00.000Z" };
    expect(statusPatch({ conditions: [ready("True")], podIPs: [] }, { conditions: [spelled] })).toBeUndefined();
  });

  it("waits for the next one when only the node is new and the Sandbox is not Ready", () => {
    const conditions = [ready("False")];
    expect(statusPatch({ conditions }, { conditions, nodeName: "node-1" })).toBeUndefined();
  });

  it("happens for a new node alone when the Sandbox is Ready", () => {
    const conditions = [ready("True")];
    const patch = statusPatch({ conditions, nodeName: "node-1" }, { conditions, nodeName: "node-2" });
    expect(patch).toEqual({ nodeName: "node-2" });
  });

  it("removes absent fields, and sends all conditions when one has changed", () => {
    const before = { conditions: [ready("True")], podIPs: ["10.1.0.5"], nodeName: "node-1" };
    expect(statusPatch(before, { conditions: [ready("False")] })).toEqual({
      conditions: [ready("False")],
      podIPs: null,
      nodeName: null,
    });
  });
});

it("a write of the status removes the fields of hibernation that are gone", () => {
  const before = { hibernation: { state: "Stopped", reason: "NoProvider", message: "none" } } as const;
  const awake = { hibernation: { lastWake: { mode: "Anew", reason: "NoProvider" } } } as const;
  expect(statusPatch(before, awake)).toEqual({
    hibernation: { state: null, reason: null, message: null, lastWake: { mode: "Anew", reason: "NoProvider" } },
  });
  expect(statusPatch(awake, {})).toEqual({ hibernation: null });
  expect(statusPatch({}, awake)).toEqual(awake);
});
