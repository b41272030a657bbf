import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { podType, serviceType } from "../../api/kinds/core.ts";
import type { KubeObject } from "../../api/kinds/meta.ts";
import type { ResourceType } from "../../api/kinds/resource-type.ts";
import { sandboxType } from "../../api/kinds/sandbox.ts";
import { sandboxClaimType } from "../../api/kinds/sandbox-claim.ts";
import { isConditionTrue } from "../../api/rules/conditions.ts";
import type { Intercept } from "../support/fakes/intercepted-client.ts";
import { type ClaimLab, openClaimLab } from "../support/labs/claim-lab.ts";
import { waiting } from "../support/waiting.ts";

const controllerFolder = join(import.meta.dirname, "..", "..", "controller");
const namespace = "default";
const inThePast = "2026-01-01T00:00:00Z";
const tomorrow = new Date(Date.now() + 86_400_000).toISOString();

/** Runs a change once, just before the controller deletes an object of this type. */
function atDelete(type: ResourceType<KubeObject>, act: (name: string) => Promise<unknown>) {
  const done = Promise.withResolvers<string>();
  let begun = false;
  const intercept: Intercept = async (call, proceed) => {
    if (begun || call.verb !== "delete" || call.kind !== type.kind) return proceed();
    begun = true;
    await act(call.name);
    try {
      return await proceed();
    } finally {
      done.resolve(call.name);
    }
  };
  return { intercept, done: done.promise };
}

const aSandbox = ({ client }: ClaimLab, spec: object) => {
  const podTemplate = { spec: { containers: [{ name: "main", image: "busybox" }] } };
  return client.create(sandboxType, { metadata: { namespace, name: "nova" }, spec: { podTemplate, ...spec } });
};

const isReady = async (lab: ClaimLab) =>
  isConditionTrue((await lab.get(sandboxType, "nova"))?.status?.conditions, "Ready");

const expired = (shutdownPolicy: "Delete" | "Retain") => ({ shutdownTime: inThePast, shutdownPolicy });

describe("an expired object whose deadline was extended just before its deletion stays:", () => {
  it("a sandbox", async () => {
    await using lab = await openClaimLab();
    const spec = { shutdownTime: tomorrow };
    const { intercept, done } = atDelete(sandboxType, () => lab.patch(sandboxType, "nova", { spec }));
    await using _controller = await lab.startController({ intercept });
    await aSandbox(lab, expired("Delete"));
    expect(await done).toBe("nova");
    await vi.waitFor(async () => {
      const ready = (await lab.get(sandboxType, "nova"))?.status?.conditions?.find(({ type }) => type === "Ready");
      expect(ready).toMatchObject({ status: "True" });
    }, waiting);
  });

  it("a claim", async () => {
    await using lab = await openClaimLab();
    const spec = { lifecycle: { shutdownTime: tomorrow } };
    const { intercept, done } = atDelete(sandboxClaimType, () => lab.patch(sandboxClaimType, "task", { spec }));
    await using _controller = await lab.startController({ intercept });
    await lab.template();
    await lab.pool(0);
    await lab.claim("task", { lifecycle: expired("Delete") });
    expect(await done).toBe("task");
    await lab.untilReady("task");
    expect(await lab.eventReasons()).not.toContain("ClaimExpired Deleting");
  });
});

describe("a Pod stays if its sandbox was changed just before the controller would delete it:", () => {
  it.each([
    { what: "its expiry time was extended", end: expired("Retain"), undo: { shutdownTime: tomorrow } },
    { what: "it was resumed", end: { operatingMode: "Suspended" }, undo: { operatingMode: "Running" } },
  ])("$what", async ({ end, undo }) => {
    await using lab = await openClaimLab();
    const done = Promise.withResolvers<void>();
    let isEnding = false;
    const intercept: Intercept = async (call, proceed) => {
      const isLastCall = call.kind === "Pod" ? call.verb === "delete" : call.kind === "Sandbox" && call.verb === "get";
      if (!isEnding || !isLastCall) return proceed();
      isEnding = false;
      await lab.patch(sandboxType, "nova", { spec: undo });
      return proceed().finally(done.resolve);
    };
    await using _controller = await lab.startController({ intercept });
    await aSandbox(lab, {});
    await vi.waitFor(async () => expect(await isReady(lab)).toBe(true), waiting);
    const pod = await lab.get(podType, "nova");
    isEnding = true;
    await lab.patch(sandboxType, "nova", { spec: end });
    await done.promise;
    await vi.waitFor(async () => expect(await isReady(lab)).toBe(true), waiting);
    const { uid, deletionTimestamp } = (await lab.get(podType, "nova"))?.metadata ?? {};
    expect({ uid, deletionTimestamp }).toEqual({ uid: pod?.metadata.uid, deletionTimestamp: undefined });
  });
});

describe("an object that changed otherwise just before its deletion", () => {
  it("is deleted anyway if it is the sandbox of an expired claim", async () => {
    await using lab = await openClaimLab();
    const body = { metadata: { annotations: { note: "changed" } } };
    const { intercept, done } = atDelete(sandboxType, (name) => lab.patch(sandboxType, name, body));
    await using _controller = await lab.startController({ intercept });
    await lab.template();
    await lab.pool(0);
    await lab.claim("task");
    await lab.untilReady("task");
    await lab.patch(sandboxClaimType, "task", { spec: { lifecycle: expired("Retain") } });
    expect(await done).toBe("task");
    await vi.waitFor(async () => expect(await lab.get(sandboxType, "task")).toBeUndefined(), waiting);
  });

  it("is deleted anyway if it is the sandbox of an expired claim and changes each time", async () => {
    await using lab = await openClaimLab();
    const attempts: unknown[] = [];
    await using _controller = await lab.startController({
      intercept: async (call, proceed) => {
        if (call.verb !== "delete" || call.kind !== "Sandbox") return proceed();
        attempts.push(call.body);
        await lab.patch(sandboxType, call.name, { metadata: { annotations: { note: `${attempts.length}` } } });
        return proceed();
      },
    });
    await lab.template();
    await lab.pool(0);
    await lab.claim("task");
    await lab.untilReady("task");
    await lab.patch(sandboxClaimType, "task", { spec: { lifecycle: expired("Retain") } });
    await vi.waitFor(async () => expect(await lab.get(sandboxType, "task")).toBeUndefined(), waiting);
    const asRead = { uid: expect.any(String), resourceVersion: expect.any(String) };
    const versions = [asRead, asRead, asRead, asRead, { uid: expect.any(String) }];
    expect(attempts).toEqual(versions.map((preconditions) => ({ preconditions })));
  });

  it("stays if it is a Service that its owner has released", async () => {
    await using lab = await openClaimLab();
    const body = { metadata: { ownerReferences: null } };
    const { intercept, done } = atDelete(serviceType, (name) => lab.patch(serviceType, name, body));
    await using _controller = await lab.startController({ intercept });
    await aSandbox(lab, { service: true });
    await vi.waitFor(async () => expect(await lab.get(serviceType, "nova")).toBeDefined(), waiting);
    await lab.patch(sandboxType, "nova", { spec: { service: false } });
    expect(await done).toBe("nova");
    await lab.patch(sandboxType, "nova", { spec: { shutdownTime: inThePast } });
    await vi.waitFor(async () => {
      const ready = (await lab.get(sandboxType, "nova"))?.status?.conditions?.find(({ type }) => type === "Ready");
      expect(ready).toMatchObject({ reason: "SandboxExpired" });
    }, waiting);
    expect(await lab.get(serviceType, "nova")).toBeDefined();
  });
});

// The last of several attempts to delete the sandbox of a claim has no version either.
it("every delete of the controller has the version that was read, except deletes of Pods", () => {
  const files = readdirSync(controllerFolder, { recursive: true, encoding: "utf8" });
  const careless = files
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .flatMap((file) => {
      const lines = readFileSync(join(controllerFolder, file), "utf8").split("\n");
      return lines.filter(
        (line) => /preconditions(?::| =) \{ uid[^}]*\}/.test(line) && !line.includes("resourceVersion"),
      );
    });
  expect(careless.map((line) => line.trim())).toEqual([
    "await client.delete(podType, { namespace, name }, { preconditions: { uid } }, signal);",
  ]);
});
