import { describe, expect, it } from "vitest";
import type { ContainerState, Pod } from "../../../api/kinds/pod.ts";
import { aPodOf, aSandbox, readyStatus } from "../../../test/support/builders/builders.ts";
import { activatorOf, KnownActivators } from "./activators.ts";

const endpointOf = (status: Pod["status"] = readyStatus, metadata: Pod["metadata"] = {}) =>
  activatorOf(aPodOf(aSandbox(), { name: "activator", ...metadata }, status), 8446)?.endpoint;

const withContainer = (state: ContainerState, restartCount = 0): Pod["status"] => ({
  ...readyStatus,
  containerStatuses: [{ name: "router", ready: true, restartCount, image: "i", imageID: "i", state }],
});

describe("where clients reach an activator", () => {
  it("is the address of its Pod", () => {
    expect(endpointOf()).toEqual({
      address: "10.1.0.5",
      run: expect.any(String),
      ready: true,
      pod: { namespace: "lab", name: "activator", uid: "uid-of-activator" },
    });
    expect(endpointOf({ ...readyStatus, conditions: [] })?.ready).toBe(false);
  });

  it.each<readonly [string, Pod["status"], Pod["metadata"]]>([
    ["it is leaving", readyStatus, { deletionTimestamp: "2026-01-01T12:00:00Z" }],
    ["it has no address", { phase: "Pending" }, {}],
    ["its process does not run", withContainer({ terminated: { exitCode: 137 } }), {}],
  ])("is nowhere once %s", (_why, status, metadata) => {
    expect(endpointOf(status, metadata)).toBeUndefined();
  });

  it("is another run once its process was started again", () => {
    expect(endpointOf(withContainer({ running: {} }))?.run).not.toBe(
      endpointOf(withContainer({ running: {} }, 1))?.run,
    );
  });
});

it.each(["Failed", "Succeeded"] as const)(
  "a Pod that is %s is no activator, whatever else its status says",
  (phase) => {
    const status = { ...withContainer({ running: {} }), phase };
    expect(activatorOf(aPodOf(aSandbox(), {}, status), 8446)).toBeUndefined();
  },
);

it("an activator whose kubelet has reported no condition is not known to serve", () => {
  expect(activatorOf(aPodOf(aSandbox(), {}, { phase: "Pending" }), 8446)?.mayServe).toBe(false);
  expect(activatorOf(aPodOf(aSandbox(), {}, readyStatus), 8446)?.mayServe).toBe(true);
});

it("activators that are known in advance notify of changes", () => {
  const activators = new KnownActivators();
  let notifications = 0;
  const listening = activators.onChange(() => {
    notifications += 1;
  });
  activators.are([{ id: "local", host: "127.0.0.1", port: 8446 }]);
  expect(activators.known()).toMatchObject([{ id: "local", endpoint: { address: "127.0.0.1", ready: true } }]);
  listening[Symbol.dispose]();
  activators.are([]);
  expect(notifications).toBe(1);
});
